import ArgumentParser
import Foundation
import JournalStorage
import JournalWeb
import LFS
import LFSStorage
import Logging

/// The options of a journal in a database or a folder, for commands that read or fill one.
struct JournalOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The journal's SQLite database. It is created if it is missing.", valueName: "file"))
    var database: String?

    // The option itself is a text, since a parser's error would repeat the value.
    @Option(help: StorageArgument.help)
    var storage: String?

    @Option(help: ArgumentHelp("A plain folder for the journal, instead of a database.", valueName: "folder"))
    var folder: String?

    @OptionGroup var secrets: SecretsOptions

    func validate() throws {
        switch (database, storage, folder) {
        case (.some, .some(let storage), nil): _ = try StorageArgument(parsing: storage)
        case (nil, nil, .some): return
        default: throw ValidationError("Give --database and --storage, or only --folder.")
        }
    }

    /// Opens the journal, runs a command's work while pictures are offloaded, and closes the journal in any case.
    ///
    /// - Parameters:
    ///   - uploads: The maximum number of concurrent uploads.
    ///   - wrap: A closure that returns the storage to use in place of the given one.
    func use<Result>(
        uploads: Int = 10, wrapping wrap: (any RemoteStorage) -> any RemoteStorage = { $0 },
        _ body: (any StreamingFileStorageService) async throws -> Result
    ) async throws -> Result {
        guard let database, let storage else {
            return try await body(LocalFileStorageService(path: folder ?? ""))
        }
        let pool = try await DatabaseStorageService.openDatabase(at: URL(filePath: database))
        let remote = try await StorageArgument(parsing: storage).open {
            try await JournalSettings.open(pool, secrets: secrets.folder())
        }
        var options = LFSOptions(storage: wrap(remote), maxExecutors: uploads)
        options.logger.logLevel = .error
        let journal = try await DatabaseStorageService.open(pool, options: options)
        return try await closing(journal.close) {
            try journal.lfs.start()
            return try await body(journal)
        }
    }
}

extension LocalFileStorageService {
    init(path: String) { self.init(folder: URL(filePath: path, directoryHint: .isDirectory)) }
}

/// Runs a body, then closes what it has used, also after an error. An error of the body takes precedence over one of
/// closing.
func closing<Result>(
    _ close: () async throws -> Void, after body: () async throws -> Result
) async throws -> Result {
    let result: Result
    do {
        result = try await body()
    } catch {
        do { try await close() } catch let second { Console.error("Closing failed too: \(second)") }
        throw error
    }
    try await close()
    return result
}

/// The option for the folder of a journal's secrets.
struct SecretsOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The folder of the secrets. See 'journal help secrets' for the default.", valueName: "folder"))
    var secrets: String?

    /// - Throws: `SettingsError` if the environment has no folder for them.
    func folder() throws -> SecretsFolder { try SecretsFolder(secrets) }
}
