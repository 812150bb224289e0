import ArgumentParser
import Foundation
import JournalStorage

/// Takes the journal of a folder in.
struct ImportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "import", abstract: "Takes the journal of a folder into a database, or into another folder.",
        discussion: "Doing it again does no harm: records and pictures that are there are written anew.")

    @Argument(help: "The folder of the journal, with tags.json and records in it.")
    var source: String

    @OptionGroup var target: TargetOptions

    func run() async throws {
        let source = JournalSession.folder(source)
        var isFolder: ObjCBool = false
        guard FileManager.default.fileExists(atPath: self.source, isDirectory: &isFolder), isFolder.boolValue else {
            throw ValidationError("There is no folder \(self.source).")
        }
        try await target.open().use { try await Copying.run(from: source.service, to: $0) }
    }
}

/// Writes the journal of a database into a folder.
struct ExportCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "export", abstract: "Writes the journal of a database into a folder.",
        discussion: "Records and pictures that are in the folder and not in the database stay there.")

    @Argument(help: "The folder; it is made if it is missing.")
    var target: String

    @OptionGroup var database: DatabaseOptions

    func run() async throws {
        guard FileManager.default.fileExists(atPath: database.database) else {
            throw ValidationError("There is no database \(database.database).")
        }
        let target = JournalSession.folder(target)
        try await database.open().use { try await Copying.run(from: $0, to: target.service) }
    }
}

/// What both have in common.
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
