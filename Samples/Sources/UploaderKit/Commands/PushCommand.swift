import ArgumentParser
import Foundation
import GRDB
import LFS
import LFSBackup

struct PushCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "push",
        abstract: "Attach files and folders, and offload them.",
        discussion: """
            Folders are walked recursively. Symbolic links in them are recorded and not
            followed; one that is named here is followed. Pushing the same folder again
            attaches only what is new or has changed; the old version of a changed file
            stays on the storage until the new one is there. What an earlier run left
            pending or failed is uploaded as well. What is deleted here stays recorded
            until 'remove'.

            Content, names, times and permissions are kept, also those of folders, empty
            ones as well; owners, hard links and extended attributes are not. A file whose
            permissions alone have changed is not read again. With --include, --exclude
            or --files-from, folders count for what is taken in them.

            The database remembers the storage that its files are on, and another one is
            refused. --change-storage takes it: files that are not there yet are found by
            'verify', which uploads them again with --repair where their bytes are here.

            \(FilterOptions.discussion)

            The storage knows files by their ids only. With --save-database a copy of the
            database goes there at the end of each push, backup, resume and remove that has
            changed it, from now on; the last three are kept, also after
            --no-save-database, and 'uploader recover' brings one back.

            A copy of each file stays in the folder beside the database, which has the same
            name and .lfs behind it, so that it is at hand. With --free-uploaded, or with
            'uploader free', copies go that are proven on the storage; 'pull' and 'verify'
            fetch what they need.
            """)

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var transfer: TransferOptions
    @OptionGroup var server: SyncServerOptions
    @OptionGroup var filters: FilterOptions
    @OptionGroup var output: OutputOptions

    @Flag(
        name: [.customShort("n"), .long, .customLong("dryrun")], help: "Show what would be attached, and do nothing.")
    var dryRun = false

    @Flag(
        name: .long, inversion: .prefixedNo,
        help: "Keep a copy of the database on the storage, from now on; file names stand in it in the clear.")
    var saveDatabase: Bool?

    @Flag(
        name: .long, help: "Free the local copies of what is on the storage, so that nothing lies on this disk twice.")
    var freeUploaded = false

    @Argument(help: ArgumentHelp("Files and folders to attach.", valueName: "file|folder"))
    var paths: [String]

    func validate() throws {
        // An unset variable of a shell must not mean the folder that one happens to be in.
        if paths.contains("") { throw ValidationError("A path is empty. Write . for the current folder.") }
        if let storage = paths.first(where: StorageArgument.looksLikeOne) {
            throw ValidationError("'\(storage)' is a storage. Give it with --to.")
        }
    }

    func run() async throws {
        let (paths, filter, saveDatabase) = (paths, try filters.read(), saveDatabase)
        if dryRun { return try reportingErrors { try makeDryRun().run(paths, filter) } }
        let freesUploaded = freeUploaded
        try await UploadRun.run(database, transfer, output, .making, sync: server.sync) { _ in
            Preparation(freesUploaded: freesUploaded, extra: ())
        } _: { run, _ in
            if let saveDatabase { try await run.saver.choose(saveDatabase) }
            run.report.walkBegins()
            defer { run.report.walkEnded() }
            for path in filter.missing(in: paths) { run.report.failed(FilePath(path), Self.isMissing) }
            try await run.attacher.run(paths.map { BackupGroup($0, .include) }, Self.options, where: filter)
        }
    }
}

extension PushCommand {
    /// Who names a file has changed his mind about it.
    private static var options: BackupOptions {
        var options = BackupOptions()
        options.sendsDeclined = true
        return options
    }

    fileprivate static let isMissing = "it is listed, and no file of this name is in the folders"

    private func makeDryRun() throws -> DryRun {
        let path = URL(fileURLWithPath: database.database).resolvingSymlinksInPath().path
        return DryRun(
            database: try DatabaseFile(at: database.database), transfer: transfer, report: Report(output),
            output: output, excluded: transfer.ownPaths(database: path))
    }
}

/// Shows what a push would attach: no row, no byte and no storage is touched.
struct DryRun {
    let database: DatabaseFile
    let transfer: TransferOptions
    let report: Report
    let output: OutputOptions
    let excluded: [String]

    func run(_ paths: [String], _ filter: PathFilter) throws {
        try database.requireOurs()
        try StorageMemory.require(transfer.to.location(), database, changes: transfer.changeStorage, makes: true)
        let known = try knownStamps()
        let groups = paths.map { BackupGroup($0, .include) }
        let missing = filter.missing(in: paths)
        for path in missing { report.failed(FilePath(path), PushCommand.isMissing) }
        var walk = try FolderSource(groups, excluding: excluded, where: filter).makeWalk()
        var (count, bytes, unreadable): (Int, Int64, Int) = (0, 0, 0)
        while let item = walk.next() {
            switch item {
            case .asset(let asset) where !(known[FilePath(asset.id)].map(asset.stamp.hasContent(of:)) ?? false):
                count += 1
                let (path, size) = (FilePath(asset.id), asset.stamp.byteCount ?? 0)
                bytes = bytes.addingSaturated(size)
                var event = JSONEvent("would-attach")
                (event.path, event.bytes) = (path.exact, size)
                report.tell(event, verbose: nil)
                if !output.json { Console.result("\(path)  \(Format.bytes(size))") }
            case .unreadable(let path, let reason):
                unreadable += 1
                report.message("cannot read \(FilePath(path)): \(reason)")
            default: break
            }
        }
        if !output.json { Console.result("\(Format.count(count, "file")) to attach, \(Format.bytes(bytes))") }
        if unreadable > 0 || !missing.isEmpty { throw ExitCode(3) }
    }

    private func knownStamps() throws -> [FilePath: String] {
        guard database.isOurs else { return [:] }
        let (connection, table) = try DocumentDatabase.openForReading(database.path)
        var known: [FilePath: String] = [:]
        try connection.read { db in
            try table.forEach(db) { result in
                if case .success(let attached) = result { known[attached.document.path] = attached.document.stamp }
            }
        }
        return known
    }
}
