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
            of it and of the folders and links in it is forgotten as well. The old versions
            of a file go with it; the id of one, which 'list --versions' shows, removes
            that one alone.

            --gone removes what has no original any more, of all files or of those that
            are named: the file was deleted or renamed here after it was pushed. Folders
            and links that are gone as well are forgotten. What 'push --move' has moved is
            none of it. A folder that has nothing any more of
            all that was pushed from it may be a disk that is not mounted, whatever else is
            in it now, and so may be one that is missing where disks are plugged in, below
            /mnt, /media, /run/media or /Volumes: what was in it stays, unless
            --accept-empty says that it is right.

            \(FileNaming.discussion)
            """)

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var transfer: TransferOptions
    @OptionGroup var server: SyncServerOptions
    @OptionGroup var output: OutputOptions

    @Flag(name: [.customShort("n"), .long], help: "Show what would be removed, and remove nothing.")
    var dryRun = false

    @Flag(name: .long, help: "Remove what has no original any more; without files all of that.")
    var gone = false

    @Flag(name: .long, help: "With --gone: also what was in folders that have nothing of it any more.")
    var acceptEmpty = false

    @OptionGroup var files: NameArguments

    func validate() throws {
        if !gone { try files.require() }
        if acceptEmpty, !gone { throw ValidationError("--accept-empty is for --gone only.") }
    }

    func run() async throws {
        if gone { return try await removeGone() }
        let naming = FileNaming(files.names)
        if dryRun { return try reportingErrors(json: output.json) { try preview(naming) } }
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

    private func removeGone() async throws {
        let (naming, acceptsEmpty) = (files.naming, acceptEmpty)
        if dryRun {
            return try reportingErrors(json: output.json) {
                let (connection, table) = try openForPreview()
                let found = try GoneOriginals.find(naming, table, connection)
                try preview(
                    found.certain(acceptsEmpty: acceptsEmpty), found.certainEntries(acceptsEmpty: acceptsEmpty),
                    found.allRefusals(acceptsEmpty: acceptsEmpty), connection)
            }
        }
        try await UploadRun.run(database, transfer, output, .own, about: .removing, sync: server.sync) { run in
            let found = try GoneOriginals.find(naming, run.table, run.database)
            run.report.failed(found.allRefusals(acceptsEmpty: acceptsEmpty))
            let remover = Remover(run.database, run.table)
            let refusals = try await remover.run(
                found.certain(acceptsEmpty: acceptsEmpty), where: { $0.path.isGoneAsFile }, forgets: true
            ) { run.report.removed($0) }
            run.report.failed(refusals)
            let entries = found.certainEntries(acceptsEmpty: acceptsEmpty).filter(\.isGone)
            try await remover.forget(entries) { run.report.forgotten($0) }
            try await run.synchronize()
            try await run.reportDeletions()
        }
    }

    private func openForPreview() throws -> (DatabaseQueue, DocumentTable) {
        let file = try DatabaseFile(at: database.database)
        try file.requireThere()
        try file.requireOurs()
        return try DocumentDatabase.openForReading(file.path)
    }

    private func preview(_ naming: FileNaming) throws {
        let (connection, table) = try openForPreview()
        let named = try connection.read { db in try naming.resolveForRemoval(table.all, db) }
        try preview(named.files + named.versions, named.entries, named.refusals, connection)
    }

    private func preview(
        _ files: [NamedFile], _ entries: Set<FilePath>, _ refusals: [FileNaming.Refusal],
        _ database: any DatabaseReader
    ) throws {
        let report = try Report(output, about: .removing)
        report.failed(refusals)
        var (count, versions) = (0, 0)
        try database.read { db in
            for file in files {
                let own = file.kind == .document ? try VersionTable.count(of: file.key, db) : 0
                count += file.kind == .version ? 0 : 1
                versions += file.kind == .version ? 1 : own
                report.wouldRemove(file, versions: own)
            }
        }
        for path in entries.sorted(by: { $0.description < $1.description }) { report.wouldForget(path) }
        let forgotten = Format.count(entries.count, "folder or link", "folders and links")
        let old = versions > 0 ? ", \(Format.count(versions, "old version"))" : ""
        let words = "\(Format.count(count, "file")) to remove\(old)\(entries.isEmpty ? "" : ", \(forgotten) to forget")"
        if output.json {
            let failed = refusals.count
            report.tell(
                JSONPreview(files: count, versions: versions, forgotten: entries.count, failed: failed), words)
        } else {
            Console.result(words)
        }
        if !refusals.isEmpty { throw ExitCode(3) }
    }
}
