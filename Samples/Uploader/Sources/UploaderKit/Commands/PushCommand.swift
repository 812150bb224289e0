import ArgumentParser
import CommandLineOptions
import Foundation
import GRDB
import LFS
import LFSBackup

struct PushCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "push",
        abstract: "Attach files and folders, and upload them.",
        usage: "uploader push --database <path> [<options>] <file|folder> ...",
        discussion: """
            A repeated push of a folder takes only new and changed files. It also uploads
            files that an earlier run left pending or failed. A file that is deleted from
            the folder stays on the storage until 'remove'. Each file is uploaded from its
            place. Do not change one before its upload, or give --copy.

            More options: 'uploader help saving', 'filters', 'storages', 'options'.

            EXAMPLES
              Upload a folder to another disk:
                uploader push --database photos.sqlite --to dir:/mnt/backup ~/Pictures
              Upload the photos only, and keep old versions for a month:
                uploader push --database photos.sqlite --include '*.{jpg,heic}' \\
                  --keep-versions 30d ~/Pictures
              Show what would be uploaded:
                uploader push --database photos.sqlite --dry-run ~/Pictures
            """)

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var transfer: TransferOptions
    @OptionGroup(visibility: .detail) var server: SyncServerOptions
    @OptionGroup var filters: FilterOptions
    @OptionGroup var watching: WatchOptions
    @OptionGroup(visibility: .detail) var output: OutputOptions

    @Flag(
        name: [.customShort("n"), .long, .customLong("dryrun")], help: "Show what would be attached. Change nothing.")
    var dryRun = false

    @Flag(
        name: .long, inversion: .prefixedNo,
        help: "Keep a copy of the database, with all file names, on the storage.")
    var saveDatabase: Bool?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "How long to keep old versions of files from now on: 30d, forever or none.", valueName: "time"),
        transform: KeepVersions.parse)
    var keepVersions: KeepVersions?

    @Flag(
        name: .long, help: "Free the local copies of uploaded files.")
    var freeUploaded = false

    @Flag(
        name: .long,
        help: ArgumentHelp(
            "Read files that change during the push, such as logs, up to their size when opened.", visibility: .detail))
    var allowChanging = false

    @Flag(name: .long, help: "Copy each file first, so that its bytes of this moment are uploaded.")
    var copy = false

    @Flag(name: .long, help: "Remove originals and their local copies once the upload is confirmed.")
    var move = false

    @Argument(
        help: ArgumentHelp("Files and folders to attach.", valueName: "file|folder"), completion: .file())
    var paths: [String]

    func validate() throws {
        // An unset shell variable must not select the current folder.
        if paths.contains("") { throw ValidationError("A path is empty. Write . for the current folder.") }
        if let storage = paths.first(where: StorageArgument.looksLikeOne) {
            throw ValidationError("'\(storage)' is a storage. Give it with --to.")
        }
        if watching.watch, dryRun { throw ValidationError("Give --watch or --dry-run, not both.") }
    }

    func run() async throws {
        let (filter, saveDatabase) = (try filters.read(json: output.json), saveDatabase)
        if dryRun {
            return try reportingErrors(json: output.json) { try makeDryRun().run(PushedPaths(paths), filter: filter) }
        }
        let keepVersions = keepVersions
        let allowsChanging = allowChanging
        let backup = backupOptions
        let (frees, moves, following) = (freeUploaded || move, move, watching.options)
        let patience = transfer.giveUpAfter.duration
        let pushed = PushedPaths(paths)
        let missing = filter.missing(in: pushed.all)
        // With a watch, a file may still appear later.
        if following == nil {
            try reportingErrors(json: output.json) { try filter.requireAny(without: missing) }
            try FirstRun.requireAny(of: pushed.all, database, transfer: transfer, output: output)
        }
        try await UploadRun.run(
            database, transfer: transfer, output: output, access: .making, sync: server.sync, endless: following != nil
        ) { run in
            // The choice is stored before old versions are removed that were kept for a shorter time.
            if let keepVersions { try await run.versions.choose(keepVersions) }
            let source = run.attacher.source(
                pushed.groups, at: pushed.names, where: filter, allowsChanging: allowsChanging)
            return Preparation(ending: ExitActions(freesUploaded: frees, moves: moves ? source : nil), extra: source)
        } _: { run, source in
            if let saveDatabase { try await run.saver.choose(saveDatabase) }
            if run.isFirst, !backup.copiesOriginals { run.report.result(Self.inPlace) }
            for path in missing { run.report.failed(FilePath(path), reason: Self.isMissing) }
            if let following {
                return try await Watcher(
                    run: run, source: source, options: following, backup: backup, patience: patience
                ).run()
            }
            run.report.walkBegins()
            defer { run.report.walkEnded() }
            // The forecast ends with this scope.
            async let _: Void = Forecast(database: run.database, source: source, report: run.report).run()
            try await run.attacher.run(source, options: backup)
        }
    }
}

extension PushCommand {
    /// A person who names a deleted file wants to upload it again.
    private var backupOptions: BackupOptions {
        var options = BackupOptions()
        options.sendsDeclined = true
        // A file that changes cannot be uploaded from its place. A move keeps the bytes until they are proven.
        options.copiesOriginals = copy || move || allowChanging
        return options
    }

    private static let inPlace =
        "Files are uploaded from their places. Do not change or remove one before its upload, or give --copy."

    static let isMissing = "it is listed, but the folders contain no such file"

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
