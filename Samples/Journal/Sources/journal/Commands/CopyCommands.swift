import ArgumentParser
import Foundation
import JournalStorage

/// The command that imports the journal of a folder.
struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Imports the journal of a folder into a database or another folder.",
        discussion: "Importing again does no harm. It writes the same records and pictures again.")

    @Argument(help: "The folder of the journal, which contains tags.json and the records.")
    var source: String

    @OptionGroup var target: JournalOptions

    func run() async throws {
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: source, isDirectory: &isFolder), isFolder.boolValue else {
            throw ValidationError("There is no folder \(source).")
        }
        try await target.use { try await Copying.run(from: LocalFileStorageService(path: source), to: $0) }
    }
}

/// The command that exports a journal into a folder.
struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Exports the journal of a database or another folder into a folder.",
        discussion: "Records and pictures that are only in the folder stay there.")

    @Argument(help: "The folder. It is created if it is missing.")
    var target: String

    @OptionGroup var source: JournalOptions

    func run() async throws {
        if let database = source.database, !FileManager.default.fileExists(atPath: database) {
            throw ValidationError("There is no database \(database).")
        }
        try await source.use { try await Copying.run(from: $0, to: LocalFileStorageService(path: target)) }
    }
}

/// The copy that both commands perform.
private enum Copying {
    static func run(
        from source: any StreamingFileStorageService, to target: any StreamingFileStorageService
    ) async throws {
        let report = try await JournalCopy(from: source, to: target).run()
        Console.tell(report.damaged)
        Console.print("\(report.records) records, \(report.pictures) pictures, \(report.tags) tags.")
        if !report.damaged.isEmpty { throw ExitCode(3) }
    }
}
