import ArgumentParser
import Foundation
import GRDB
import LFS
import LFSBackup

struct PullCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pull",
        abstract: "Restore files to a folder or to their original places.",
        usage: "uploader pull --database <path> [<options>] [<file> ...]",
        discussion: """
            A file with the same content is left alone. A file with other content is a
            conflict, and is kept unless --overwrite is given. --as-of restores the files
            of a past time, as far as 'push --keep-versions' has kept them.

            More options: 'uploader help restoring', 'names', 'filters', 'options'.

            EXAMPLES
              Restore everything to a new folder:
                uploader pull --database photos.sqlite --all --output ~/Restored
              Show what would be written to the original places:
                uploader pull --database photos.sqlite --all --in-place --dry-run
              Restore a folder as it was on a day:
                uploader pull --database photos.sqlite --as-of 2026-11-01 \\
                  --output ~/Restored Pictures/2019
            """)

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var transfer: TransferOptions
    @OptionGroup(visibility: .detail) var server: SyncServerOptions
    @OptionGroup var filters: FilterOptions
    @OptionGroup(visibility: .detail) var archive: ArchiveOptions
    @OptionGroup(visibility: .detail) var output: OutputOptions

    @Flag(name: .long, help: "Write all files.")
    var all = false

    @Flag(
        name: .long,
        help: ArgumentHelp(
            "Write all files of the account, including those without a path on this device.", visibility: .detail))
    var synced = false

    @Option(
        name: .long,
        help: ArgumentHelp("Write the files as they were at this time, such as 2026-11-25.", valueName: "time"),
        transform: PastTime.parse)
    var asOf: Date?

    @Option(
        name: .customLong("output"), help: ArgumentHelp("The folder to write into.", valueName: "dir"),
        completion: .directory)
    var folder: String?

    @Flag(name: .long, help: "Write to the places that the files were pushed from, after a confirmation.")
    var inPlace = false

    @Flag(name: .long, help: "Overwrite existing files and links with other content.")
    var overwrite = false

    @Flag(name: .long, help: ArgumentHelp("Do not ask for a confirmation.", visibility: .detail))
    var yes = false

    @Flag(
        name: [.customShort("n"), .long],
        help: "Show what would be written where, and the conflicts. Write nothing.")
    var dryRun = false

    @OptionGroup var files: NameArguments

    func validate() throws {
        guard [all, synced, files.naming != nil].filter(\.self).count == 1 else {
            throw ValidationError("Give either files, --all, or --synced.")
        }
        if asOf != nil, synced { throw ValidationError("--as-of requires files or --all.") }
        guard (folder != nil) != inPlace else { throw ValidationError("Give either --output or --in-place.") }
        if folder == "" { throw ValidationError("--output is empty. Write . for the current folder.") }
    }

    func run() async throws {
        let (naming, withAll, filter, destination) = (
            files.naming, !all, try filters.read(json: output.json), destination
        )
        if dryRun {
            return try await reportingErrors(json: output.json) {
                try await preview(naming, filter: filter, destination: destination)
            }
        }
        try reportingErrors(json: output.json) { try confirm() }
        // All files may come from other devices.
        let access: UploadRun.Access = server.sync == nil ? .any : .joining
        let (overwrites, past, archive) = (overwrite, asOf, archive)
        try await UploadRun.run(
            database, transfer: transfer, output: output, access: access, about: .pulling, sync: server.sync
        ) { run in
            let restore = try ArchiveRestore(archive, storage: run.saver.storage)
            try await run.synchronize()
            let tables = withAll ? run.table.all : [run.table]
            let source = try await RestoreSource(
                run.database, tables: try Self.tables(tables, at: past), naming: naming, filter: filter, asOf: past,
                to: destination)
            try source.layout.requireOther()
            try await Restorer(
                source, lfs: run.lfs, database: run.database, report: run.report, overwrites: overwrites,
                archive: restore
            ).run()
            if let summary = restore.summary { run.report.message(summary) }
        }
    }

    /// Returns the tables for a time in the past. Only documents have old versions.
    ///
    /// - Throws: ``UploaderError`` for the database of another app.
    private static func tables(_ tables: [DocumentTable], at past: Date?) throws -> [DocumentTable] {
        if past == nil { return tables }
        guard tables.contains(where: { $0.isOurs }) else {
            throw UploaderError("Old versions are kept in the uploader's own databases only. Leave --as-of out.")
        }
        return tables.filter { $0.isOurs }
    }

    private var destination: RestoreLayout.Destination {
        guard let folder else { return .original }
        return .folder(FilePath(argument: folder).absolute(from: FileManager.default.currentDirectoryPath))
    }

    /// Asks for confirmation.
    ///
    /// - Throws: ``UploaderError`` if the answer is no, or without a terminal to ask on.
    private func confirm() throws {
        guard inPlace, !yes else { return }
        let others = overwrite ? "OVERWRITTEN" : "kept"
        let question = """
            The files are written to the places that they were pushed from. Existing files with other content are \
            \(others); 'pull --dry-run' shows them. Continue?
            """
        switch Question.isConfirmed(question) {
        case true?: return
        case false?: throw UploaderError("Nothing was written.")
        case nil: throw UploaderError("--in-place asks before it writes, and there is no terminal. Give --yes as well.")
        }
    }

    private func preview(
        _ naming: FileNaming?, filter: PathFilter, destination: RestoreLayout.Destination
    ) async throws {
        let (connection, table) = try DocumentDatabase.openForReading(database.database)
        let source = try await RestoreSource(
            connection, tables: try Self.tables(all ? [table] : table.all, at: asOf), naming: naming, filter: filter,
            asOf: asOf,
            to: destination)
        try source.layout.requireOther()
        // If the local copies or the originals cannot be read, their files count as files to download.
        let originals: LFSReader?
        do { originals = try await LFSReader(connection) } catch is LFSError { originals = nil }
        try await PullPreview(
            source: source, report: try Report(output, about: .pulling), overwrites: overwrite,
            here: try FileList.idsHere(database: database.database) ?? [], originals: originals
        ).run()
    }
}
