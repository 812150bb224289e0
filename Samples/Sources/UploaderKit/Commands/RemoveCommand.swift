import ArgumentParser
import Foundation
import GRDB
import LFS

struct RemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove files: their records, their local bytes and their remote objects.",
        discussion: "The files that were pushed stay where they are. 'list' shows the ids.")

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var transfer: TransferOptions
    @OptionGroup var server: SyncServerOptions
    @OptionGroup var output: OutputOptions

    @Argument(help: ArgumentHelp("The ids of the files.", valueName: "id"))
    var ids: [String]

    func run() async throws {
        let ids = ids
        try await UploadRun.run(database, transfer, output, .own, about: .removing, sync: server.sync) { run in
            let found = try await run.database.write { db in
                var found: Set<String> = []
                for id in ids {
                    for document in try String.fetchAll(
                        db, sql: "SELECT id FROM uploader_document WHERE fileId = ?", arguments: [id])
                    {
                        try ReplacedFiles.removeAll(of: document, db)
                        try db.execute(sql: "DELETE FROM uploader_document WHERE id = ?", arguments: [document])
                    }
                    if try FileData.deleteOne(db, key: id) { found.insert(id) }
                }
                return found
            }
            for id in ids where !found.contains(id) { run.report.failed(FilePath(id), "there is no file with this id") }
            // The bytes go when the server has accepted it.
            try await run.synchronize()
            try await run.reportDeletions()
            for id in found { run.report.removed(id) }
        }
    }
}
