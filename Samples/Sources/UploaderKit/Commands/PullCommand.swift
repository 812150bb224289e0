import ArgumentParser
import Foundation
import GRDB
import LFS
import LFSBackup

struct PullCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "pull",
        abstract: "Write attached files to a folder or to their places, fetching them where needed.",
        discussion: """
            Each folder that was pushed comes into the --output folder under its own
            name, as 'cp -r' would write it; of folders that lie within each other the
            outermost one counts, in whatever order they were pushed. A file that was
            pushed by itself comes under its name. Where two files would get the same
            path, their ids stand before their names. --in-place writes to where the
            files were, and asks before.

            A file that is there already with the same content is left alone; one with
            other content is a conflict, and stays unless --overwrite is given.
            --dry-run shows what would be written where, and the conflicts.

            Times, permissions, empty folders and symbolic links come back. Owners and
            the setuid and setgid bits do not. Links get the text
            that they had, wherever it leads; nothing is written through them. Folders
            and files that were there keep their own times and permissions, unless
            --overwrite is given. With --include, --exclude or a list, folders come with
            the files in them only. Where the disk takes two names for one, such as names
            that differ in case only, the first is written and the other one is reported.

            Every file is checked against its size and SHA-256 before it is written. A
            large one that was cut off, by the end of the command too, goes on with the
            bytes that are missing when it is pulled again.

            While the storage is away, files that are here are written, and the others are
            tried again for as long as --give-up-after says. One that refuses the keys, or
            is not there at all, is not waited for; a folder that is not there ends it at
            once, since its disk may not be mounted. It may be on a disk that takes no
            writes.

            An old version that 'push --keep-versions' keeps is written to the place of its
            file when it is named by its id, which 'list --versions' shows. --as-of writes
            what was current then, of all that is selected: 2026-11-25 for the beginning of
            that day, '2026-11-25 18:40' or 2026-11-25T18:40:00Z; without Z or an offset it
            is the time of this machine. Files that came later are left out; those that are
            named one by one count as failed, as does what is not kept any more. Folders
            and links are those of now.

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
        name: .long,
        help: ArgumentHelp("Write what was current at this time; see above.", valueName: "time"),
        transform: PastTime.parse)
    var asOf: Date?

    @Option(
        name: .customLong("output"), help: ArgumentHelp("The folder to write into.", valueName: "dir"),
        completion: .directory)
    var folder: String?

    @Flag(name: .long, help: "Write to the places that the files were pushed from, once that is confirmed.")
    var inPlace = false

    @Flag(name: .long, help: "Write over files and links that are there with other content.")
    var overwrite = false

    @Flag(name: .long, help: "Ask nothing.")
    var yes = false

    @Flag(
        name: [.customShort("n"), .long],
        help: "Show what would be written where and what is in the way, and write and fetch nothing.")
    var dryRun = false

    @OptionGroup var files: NameArguments

    func validate() throws {
        guard [all, synced, files.naming != nil].filter(\.self).count == 1 else {
            throw ValidationError("Give either files, --all, or --synced.")
        }
        if asOf != nil, synced { throw ValidationError("--as-of goes with files or --all.") }
        guard (folder != nil) != inPlace else { throw ValidationError("Give either --output or --in-place.") }
        if folder == "" { throw ValidationError("--output is empty. Write . for the current folder.") }
    }

    func run() async throws {
        let (naming, withAll, filter, destination) = (
            files.naming, !all, try filters.read(json: output.json), destination
        )
        if dryRun {
            return try await reportingErrors(json: output.json) { try await preview(naming, filter, destination) }
        }
        try reportingErrors(json: output.json) { try confirm() }
        // What other devices have may be all there is yet.
        let access: UploadRun.Access = server.sync == nil ? .any : .joining
        let (overwrites, past) = (overwrite, asOf)
        try await UploadRun.run(database, transfer, output, access, about: .pulling, sync: server.sync) { run in
            try await run.synchronize()
            let tables = withAll ? run.table.all : [run.table]
            let source = try await RestoreSource(
                run.database, try Self.tables(tables, at: past), naming, filter, asOf: past, to: destination)
            try source.layout.requireOther()
            try await Restorer(source, run.lfs, run.database, run.report, overwrites: overwrites).run()
        }
    }

    /// Only documents have a past.
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

    /// - Throws: ``UploaderError`` when the answer is no, or nobody can give one.
    private func confirm() throws {
        guard inPlace, !yes else { return }
        let others = overwrite ? "OVERWRITTEN" : "kept"
        let question = """
            The files are written to the places that they were pushed from. What is there with other content is \
            \(others); 'pull --dry-run' shows it. Go on?
            """
        switch Question.isConfirmed(question) {
        case true?: return
        case false?: throw UploaderError("Nothing was written.")
        case nil: throw UploaderError("--in-place asks before it writes, and there is no terminal. Give --yes as well.")
        }
    }

    private func preview(
        _ naming: FileNaming?, _ filter: PathFilter, _ destination: RestoreLayout.Destination
    ) async throws {
        let (connection, table) = try DocumentDatabase.openForReading(database.database)
        let source = try await RestoreSource(
            connection, try Self.tables(all ? [table] : table.all, at: asOf), naming, filter, asOf: asOf,
            to: destination)
        try source.layout.requireOther()
        try await PullPreview(
            source: source, report: try Report(output, about: .pulling), overwrites: overwrite,
            // What cannot be known counts as to be fetched.
            here: try FileList.idsHere(database: database.database) ?? []
        ).run()
    }
}
