import ArgumentParser
import Foundation
import JournalStorage

/// The options of the journal that is served: a database, or a folder with a working database in it.
struct ServedJournal: ParsableArguments {
    @Option(help: ArgumentHelp("The journal's SQLite database. It is created if it is missing.", valueName: "file"))
    var database: String?

    @Option(
        help: ArgumentHelp(
            "A plain folder that is the journal, instead of a database.", valueName: "folder"))
    var folder: String?

    @Option(help: StorageArgument.help)
    var storage: String

    @Flag(help: "Create the bucket if it is missing.")
    var createBucket = false

    @OptionGroup var secrets: SecretsOptions

    func validate() throws {
        guard (database == nil) != (folder == nil) else { throw ValidationError("Give --database or --folder.") }
        _ = try StorageArgument(parsing: storage)
    }

    /// The folder of the working database of a folder. A journal in a folder does not read it.
    private static let workingFolder = ".journal"

    /// The path of the database, which is the working database of a folder.
    var path: String {
        if let database { return database }
        let folder = URL(filePath: folder ?? "", directoryHint: .isDirectory)
        return folder.appending(path: "\(Self.workingFolder)/journal.sqlite").path
    }

    /// Returns the mirror of the folder after it has brought the database up to date. Nil without a folder. Damaged
    /// items are reported, and stay in the folder.
    func mirror(_ database: DatabaseStorageService) async throws -> FolderMirror? {
        guard let folder else { return nil }
        let files = LocalFileStorageService(path: folder)
        let mirror = FolderMirror(files, database: database)
        Console.tell(try await mirror.take().damaged)
        return mirror
    }
}
