import ArgumentParser
import Foundation
import GRDB
import LFS

struct RemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove files: their records, their local bytes and their remote objects.",
        discussion: """
            The files that were pushed stay where they are. With a folder, what is recorded
            of it and of the folders and links in it is forgotten as well.

            \(FileNaming.discussion)
            """)

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var transfer: TransferOptions
    @OptionGroup var server: SyncServerOptions
    @OptionGroup var output: OutputOptions

    @Flag(name: [.customShort("n"), .long], help: "Show what would be removed, and remove nothing.")
    var dryRun = false

    @OptionGroup var files: NameArguments

    func validate() throws { try files.require() }

    func run() async throws {
        let naming = FileNaming(files.names)
        if dryRun { return try reportingErrors { try preview(naming) } }
        try await UploadRun.run(database, transfer, output, .own, about: .removing, sync: server.sync) { run in
            let refusals = try await Remover(run.database, run.table).run(naming) {
                run.report.removed($0)
            } onForgotten: {
                run.report.forgotten($0)
            }
            run.report.failed(refusals)
            // The bytes go when the server has accepted it.
            try await run.synchronize()
            try await run.reportDeletions()
        }
    }

    private func preview(_ naming: FileNaming) throws {
        let file = try DatabaseFile(at: database.database)
        try file.requireThere()
        try file.requireOurs()
        let (connection, table) = try DocumentDatabase.openForReading(file.path)
        let named = try connection.read { db in try naming.resolve(table.all, withEntries: true, db) }
        let report = Report(output, about: .removing)
        report.failed(named.refusals)
        for file in named.files { report.wouldRemove(file) }
        for path in named.entries.sorted(by: { $0.description < $1.description }) { report.wouldForget(path) }
        if !output.json {
            let files = Format.count(named.files.count, "file")
            let entries = Format.count(named.entries.count, "folder or link", "folders and links")
            Console.result("\(files) to remove\(named.entries.isEmpty ? "" : ", \(entries) to forget")")
        }
        if !named.refusals.isEmpty { throw ExitCode(3) }
    }
}
