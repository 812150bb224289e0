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
            stays on the storage until the new one is there, or longer: see below. What an
            earlier run left pending or failed is uploaded as well. What is deleted here
            stays recorded until 'remove'.

            Content, names, times and permissions are kept, also those of folders, empty
            ones as well; owners, hard links and extended attributes are not. A file whose
            permissions alone have changed is read again and not sent. With --include,
            --exclude or a list, folders count for what is taken in them.

            The holes of a sparse file take no room beside the database or in dir:, and
            'pull' makes holes of long runs of zeros. A storage on a server gets the zeros
            as bytes: they go over the line and are paid for there.

            A file that is written to while it is read fails, and the others go on. With
            --allow-changing as many bytes are taken as it had when it was opened. That is
            right for logs; of a file that is changed in place some parts may be old and
            some new. The next push takes it again.

            The database remembers the storage that its files are on, and another one is
            refused. --change-storage takes it: files that are not there yet are found by
            'verify', which uploads them again with --repair where their bytes are here.

            \(FilterOptions.discussion)

            The storage knows files by their ids; a bucket has each file's name with its
            object as well, without the folder. With --save-database a copy of the
            database goes there at the end of each push, backup, resume and remove that has
            changed it, from now on; the last three of each machine are kept, also after
            --no-save-database, and 'uploader recover' brings one back.

            A copy of each file stays in the folder beside the database, which has the same
            name and .lfs behind it, so that it is at hand. With --free-uploaded, or with
            'uploader free', copies go that are proven on the storage; 'pull' and 'verify'
            fetch what they need. With --free-uploaded or --move they go also before the
            end, when the disk has no room for more: so any number of files goes through a
            small disk. One that does not fit by itself is told, and the others go on.

            --move removes the files that were pushed as well, as 'rclone move' does, and
            asks no question: each once the storage has it, and only if it is as it was
            read and no program is writing to it. Files of earlier runs go as well, where
            the storage is a folder after their objects were read back; folders and links
            stay. 'pull' brings them back.

            --keep-versions 30d keeps the old versions of changed files on the storage for
            so long from their replacement on, forever without an end, and none no longer
            than until the new one is there, as without it. The database remembers it, for
            push, backup and resume. It holds for old versions that are there as well: a
            shorter time or none removes at once what it does not keep, and says how many
            and how much; a longer one keeps them longer. Their copies on this disk are
            freed. From one run to the next a week counts at most, and a quarter of the
            time, so that a wrong clock removes none: where runs are rarer, they stay
            longer. 'list --versions' shows them, 'pull' brings them back by their ids or
            --as-of a time, 'remove' removes them. With --sync they stay with the device
            that has made them: others do not know of which file they are, and list them
            without a path.

            \(WatchOptions.discussion)
            """)

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var transfer: TransferOptions
    @OptionGroup var server: SyncServerOptions
    @OptionGroup var filters: FilterOptions
    @OptionGroup var watching: WatchOptions
    @OptionGroup var output: OutputOptions

    @Flag(
        name: [.customShort("n"), .long, .customLong("dryrun")], help: "Show what would be attached, and do nothing.")
    var dryRun = false

    @Flag(
        name: .long, inversion: .prefixedNo,
        help: "Keep a copy of the database on the storage, from now on; file names stand in it in the clear.")
    var saveDatabase: Bool?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "How long old versions of changed files are kept from now on: 30d, forever or none.", valueName: "time"),
        transform: KeepVersions.parse)
    var keepVersions: KeepVersions?

    @Flag(
        name: .long, help: "Free the local copies of what is on the storage, so that nothing lies on this disk twice.")
    var freeUploaded = false

    @Flag(
        name: .long,
        help: "Take of a file that others write to, such as a log, what was there at the start, and no error.")
    var allowChanging = false

    @Flag(name: .long, help: "Remove the files that were pushed, and their local copies, once the storage has them.")
    var move = false

    @Argument(
        help: ArgumentHelp("Files and folders to attach.", valueName: "file|folder"), completion: .file())
    var paths: [String]

    func validate() throws {
        // An unset variable of a shell must not mean the folder that one happens to be in.
        if paths.contains("") { throw ValidationError("A path is empty. Write . for the current folder.") }
        if let storage = paths.first(where: StorageArgument.looksLikeOne) {
            throw ValidationError("'\(storage)' is a storage. Give it with --to.")
        }
        if watching.watch, dryRun { throw ValidationError("Give --watch or --dry-run, not both.") }
    }

    func run() async throws {
        let (filter, saveDatabase) = (try filters.read(json: output.json), saveDatabase)
        if dryRun { return try reportingErrors(json: output.json) { try makeDryRun().run(PushedPaths(paths), filter) } }
        let keepVersions = keepVersions
        let allowsChanging = allowChanging
        let (frees, moves, following) = (freeUploaded || move, move, watching.options)
        let patience = transfer.giveUpAfter.duration
        let pushed = PushedPaths(paths)
        let missing = filter.missing(in: pushed.all)
        // A file may come later while the folders are watched.
        if following == nil {
            try reportingErrors(json: output.json) { try filter.requireAny(without: missing) }
            try FirstRun.requireAny(of: pushed.all, database, transfer, output)
        }
        try await UploadRun.run(
            database, transfer, output, .making, sync: server.sync, endless: following != nil
        ) { run in
            // Before old versions go that were kept for less.
            if let keepVersions { try await run.versions.choose(keepVersions) }
            let source = run.attacher.source(
                pushed.groups, at: pushed.names, where: filter, allowsChanging: allowsChanging)
            return Preparation(ending: Ending(freesUploaded: frees, moves: moves ? source : nil), extra: source)
        } _: { run, source in
            if let saveDatabase { try await run.saver.choose(saveDatabase) }
            for path in missing { run.report.failed(FilePath(path), Self.isMissing) }
            if let following {
                return try await Watcher(
                    run: run, source: source, options: following, backup: Self.options, patience: patience
                ).run()
            }
            run.report.walkBegins()
            defer { run.report.walkEnded() }
            // Ends with this scope.
            async let _: Void = Forecast(database: run.database, source: source, report: run.report).run()
            try await run.attacher.run(source, Self.options)
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

    static let isMissing = "it is listed, and no file of this name is in the folders"

    private func makeDryRun() throws -> DryRun {
        let path = URL(fileURLWithPath: database.database).resolvingSymlinksInPath().path
        let file = try DatabaseFile(at: database.database)
        let (report, storage) = (try Report(output), try transfer.storage(for: file).argument)
        return DryRun(
            database: file, transfer: transfer, storage: storage, report: report, output: output,
            excluded: transfer.ownPaths(database: path, storage) + report.ownPaths, moves: move,
            keepVersions: keepVersions)
    }
}
