import ArgumentParser
import Foundation
import JournalStorage
import LFS

/// The database form of a journal.
struct DatabaseOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The SQLite database of the journal; it is made if it is missing.", valueName: "file"))
    var database: String

    @Option(help: StorageArgument.help)
    var storage: String

    @OptionGroup var secrets: SecretsOptions

    // Not by the option itself, whose error would repeat what was written.
    func validate() throws { _ = try StorageArgument(parsing: storage) }

    func open() async throws -> JournalSession {
        try await JournalSession.database(at: database, on: try StorageArgument(parsing: storage), secrets)
    }
}

/// Either form of a journal, for commands that fill one.
struct TargetOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The SQLite database of the journal; it is made if it is missing.", valueName: "file"))
    var database: String?

    @Option(help: StorageArgument.help)
    var storage: String?

    @Option(help: ArgumentHelp("A plain folder for the journal, in the place of a database.", valueName: "folder"))
    var folder: String?

    @OptionGroup var secrets: SecretsOptions

    func validate() throws {
        switch (database, storage, folder) {
        case (.some, .some(let storage), nil): _ = try StorageArgument(parsing: storage)
        case (nil, nil, .some): return
        default: throw ValidationError("Write --database and --storage, or --folder alone.")
        }
    }

    func open() async throws -> JournalSession {
        if let database, let storage {
            return try await JournalSession.database(
                at: database, on: try StorageArgument(parsing: storage), secrets)
        }
        return JournalSession.folder(folder ?? "")
    }
}
