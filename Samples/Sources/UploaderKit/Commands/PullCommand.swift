import ArgumentParser
import Foundation
import GRDB
import LFS

struct PullCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pull",
        abstract: "Write attached files into a folder, fetching them from the storage where needed.",
        discussion: """
            A folder that was pushed comes back under its own name, as 'cp -r' would write
            it. Where two of them would get the same path, their ids stand before their
            names. A file that is there already with the same content is left alone; one
            with other content is never overwritten.

            Every file is checked against its size and SHA-256 before it is written. A
            large one that was cut off, by the end of the command too, goes on with the
            bytes that are missing when it is pulled again.

            \(FileNaming.discussion)

            \(FilterOptions.discussion)
            """)

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var transfer: TransferOptions
    @OptionGroup var server: SyncServerOptions
    @OptionGroup var filters: FilterOptions
    @OptionGroup var output: OutputOptions

    @Flag(name: .long, help: "Write all files.")
    var all = false

    @Flag(name: .long, help: "Write all files that the account's devices share, also those without a document here.")
    var synced = false

    @Option(
        name: .customLong("output"), help: ArgumentHelp("The folder to write into.", valueName: "dir"),
        completion: .directory)
    var folder: String

    @OptionGroup var files: NameArguments

    func validate() throws {
        guard [all, synced, files.naming != nil].filter(\.self).count == 1 else {
            throw ValidationError("Give either files, --all, or --synced.")
        }
    }

    func run() async throws {
        let (naming, folder, withAll, filter) = (files.naming, folder, !all, try filters.read())
        // What other devices have may be all there is yet.
        let access: UploadRun.Access = server.sync == nil ? .any : .joining
        try await UploadRun.run(database, transfer, output, access, about: .pulling, sync: server.sync) { run in
            try await run.synchronize()
            let tables = withAll ? run.table.all : [run.table]
            try await Restorer(
                database: run.database, tables: tables, lfs: run.lfs, report: run.report, folder: folder, filter: filter
            ).run(naming)
        }
    }
}
