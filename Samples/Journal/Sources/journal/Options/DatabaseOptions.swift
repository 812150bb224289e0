import ArgumentParser
import Foundation
import JournalStorage
import LFS
import LFSStorage

/// The options of a journal in a database.
struct DatabaseOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The journal's SQLite database. It is created if it is missing.", valueName: "file"))
    var database: String

    @Option(help: StorageArgument.help)
    var storage: String

    @OptionGroup var secrets: SecretsOptions

    // The option itself is a text, since a parser's error would repeat the value.
    func validate() throws { _ = try StorageArgument(parsing: storage) }

    func open() async throws -> JournalSession {
        try await JournalSession.database(at: database, on: try StorageArgument(parsing: storage), secrets)
    }
}

/// The options of a journal in a database or a folder, for commands that fill one.
struct TargetOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The journal's SQLite database. It is created if it is missing.", valueName: "file"))
    var database: String?

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

    /// - Parameters:
    ///   - uploads: The maximum number of concurrent uploads.
    ///   - wrap: A closure that returns the storage to use in place of the given one.
    func open(
        uploads: Int = 10, wrapping wrap: (any RemoteStorage) -> any RemoteStorage = { $0 }
    ) async throws -> JournalSession {
        if let database, let storage {
            return try await JournalSession.database(
                at: database, on: try StorageArgument(parsing: storage), secrets, uploads: uploads, wrapping: wrap)
        }
        return JournalSession.folder(folder ?? "")
    }
}
