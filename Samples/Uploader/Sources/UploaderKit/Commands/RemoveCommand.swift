import ArgumentParser
import Foundation
import GRDB
import LFS

struct RemoveCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "remove",
        abstract: "Remove files: their records, local copies and objects.",
        usage: "uploader remove --database <path> [<options>] [<file> ...]",
        discussion: """
            The originals stay where they are. If a folder is named, the records of the
            folders and links in it are removed as well. The old versions of a file are
            removed with it. The id of an old version, from 'list --versions', removes this
            version only.

            --gone removes the files whose originals were deleted or renamed after the
            push, and the records of such folders and links. Files that 'push --move' has
            moved do not count. If nothing of a pushed folder exists any more, or a folder
            below /mnt, /media, /run/media or /Volumes is missing, its disk may not be
            mounted. Its files are kept unless --accept-empty is given.

            More options: 'uploader help names', 'options'.

            EXAMPLES
              Remove a file from the storage and the database:
                uploader remove --database photos.sqlite Pictures/2019/blurred.jpg
              Show the files whose originals are gone, then remove them:
                uploader remove --database photos.sqlite --gone --dry-run
                uploader remove --database photos.sqlite --gone
            """)

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var transfer: TransferOptions
    @OptionGroup(visibility: .detail) var server: SyncServerOptions
    @OptionGroup(visibility: .detail) var output: OutputOptions

    @Flag(name: [.customShort("n"), .long], help: "Show what would be removed. Remove nothing.")
    var dryRun = false

    @Flag(name: .long, help: "Remove files whose originals are gone. Without names, all of them.")
    var gone = false

    @Flag(name: .long, help: "With --gone, also for folders that are empty, missing or unmounted.")
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
        try await UploadRun.run(
            database, transfer: transfer, output: output, access: .own, about: .removing, sync: server.sync
        ) { run in
            let refusals = try await Remover(run.database, table: run.table).run(naming) {
                run.report.removed($0)
            } onForgotten: {
                run.report.forgotten($0)
            }
            run.report.failed(refusals)
            // The bytes are deleted once the server has accepted the removal.
            try await run.synchronize()
            try await run.reportDeletions()
        }
    }

    private func removeGone() async throws {
        let (naming, acceptsEmpty) = (files.naming, acceptEmpty)
        if dryRun {
            return try reportingErrors(json: output.json) {
                let (connection, table) = try openForPreview()
                let found = try RemovedOriginals.find(naming, table: table, database: connection)
                try preview(
                    found.certain(acceptsEmpty: acceptsEmpty),
                    entries: found.certainEntries(acceptsEmpty: acceptsEmpty),
                    refusals: found.allRefusals(acceptsEmpty: acceptsEmpty), database: connection)
            }
        }
        try await UploadRun.run(
            database, transfer: transfer, output: output, access: .own, about: .removing, sync: server.sync
        ) { run in
            let found = try RemovedOriginals.find(naming, table: run.table, database: run.database)
            run.report.failed(found.allRefusals(acceptsEmpty: acceptsEmpty))
            let remover = Remover(run.database, table: run.table)
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
        try preview(
            named.files + named.versions, entries: named.entries, refusals: named.refusals, database: connection)
    }

    private func preview(
        _ files: [NamedFile], entries: Set<FilePath>, refusals: [FileNaming.Refusal],
        database: any DatabaseReader
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
        let forgotten = Format.count(entries.count, noun: "folder or link", plural: "folders and links")
        let old = versions > 0 ? ", \(Format.count(versions, noun: "old version"))" : ""
        let words =
            "\(Format.count(count, noun: "file")) to remove\(old)\(entries.isEmpty ? "" : ", \(forgotten) to forget")"
        if output.json {
            let failed = refusals.count
            report.tell(
                JSONPreview(files: count, versions: versions, forgotten: entries.count, failed: failed), words: words)
        } else {
            Console.result(words)
        }
        if !refusals.isEmpty { throw ExitCode(3) }
    }
}
