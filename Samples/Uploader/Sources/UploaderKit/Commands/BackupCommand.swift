import ArgumentParser
import Foundation
import LFS
import LFSBackup
import LFSSettings

struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Back up new and changed files of folders when network and power allow it.",
        usage: "uploader backup --database <path> [<options>]",
        discussion: """
            A file is backed up if it is in an included folder and not in an excluded one.
            A file that was removed on purpose is skipped until its content changes. 'push'
            uploads it at once. Equal files are uploaded once.

            Options that are not given are taken from the settings. While a condition is
            not met, no upload starts, and 'status' shows the condition. Running uploads
            continue. The network condition of the settings does not apply to a storage
            that is a folder.

            More options: 'uploader help saving', 'storages', 'options'.

            EXAMPLES
              Back up a folder when the laptop is on Wi-Fi and on its charger:
                uploader backup --database photos.sqlite --to s3://photos/mine \\
                  --groups include:~/Pictures,exclude:~/Pictures/Cache \\
                  --when unmetered,mains --delay 10m
              Back up the folders of the settings:
                uploader settings set --database photos.sqlite backup.groups \\
                  include:/home/me/Pictures
                uploader backup --database photos.sqlite
            """)

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var transfer: TransferOptions
    @OptionGroup(visibility: .detail) var server: SyncServerOptions
    @OptionGroup(visibility: .detail) var output: OutputOptions

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Folders and files. A leading ~/ is the home folder.",
            valueName: GroupsArgument.form))
    var groups: [GroupsArgument] = []

    @Option(
        name: .long,
        help: ArgumentHelp(
            "When uploads may start: unmetered (cable or Wi-Fi), mains, unmetered,mains or always.",
            valueName: "conditions"))
    var when: ConditionsArgument?

    @Option(
        name: .long,
        help: ArgumentHelp("How long the upload of a new file waits: 90s, 10m, 2h, at most a day.", valueName: "time"),
        transform: DelayArgument.parse)
    var delay: Duration?

    @Flag(name: .long, help: "Copy each file first, so that its bytes of this moment are uploaded.")
    var copy = false

    @Flag(
        name: .long,
        help: ArgumentHelp(
            "Read files that change during the backup, such as logs, up to their size when opened.",
            visibility: .detail))
    var allowChanging = false

    @Option(name: .long, help: ArgumentHelp("Where proc and sys are.", visibility: .hidden))
    var systemRoot = "/"

    private static let nothingIncluded = UploaderError(
        "No folder is to be backed up. Give --groups include:PATH, or set backup.groups in the settings.")

    func run() async throws {
        let (given, when, delay, root) = (groups.flatMap(\.groups), when, delay, systemRoot)
        let allowsChanging = allowChanging
        let copies = copy || allowChanging
        let names = groups.reduce(into: [:]) { $0.merge($1.names) { $1 } }
        let included = given.filter { $0.mode == .include }
        if given.isEmpty {
            // Without a database, no settings exist that could name a folder.
            try reportingErrors(json: output.json) {
                if try DatabaseFile(at: database.database).isNew { throw Self.nothingIncluded }
            }
        } else if !included.isEmpty {
            let paths = included.map { group in names[group.id].map { FilePath($0) } ?? FilePath(group.id) }
            try FirstRun.requireAny(of: paths, database, transfer: transfer, output: output)
        }
        try await UploadRun.run(database, transfer: transfer, output: output, access: .making, sync: server.sync) {
            run in
            // The settings are closed together with the database at the end of the process. They run no task.
            let settings = try await UploaderSettings.open(run.database)
            let gate = UploadGate(
                run.lfs,
                conditions: {
                    if let when { return when.conditions }
                    let conditions = try await BackupSettings.conditions(settings)
                    return run.isOnFolder ? conditions.subtracting(.unmetered) : conditions
                },
                device: { try SystemState(root: root).read() })
            try await gate.look()
            let wait = if let delay { delay } else { try await settings.get(.backupDelay) }
            return Preparation(gate: gate, delay: wait, extra: (settings, wait))
        } _: { run, extra in
            let (settings, delay) = extra
            let groups = try await given.isEmpty ? settings.get(.backupGroups) : given
            guard groups.contains(where: { $0.mode == .include }) else {
                throw Self.nothingIncluded
            }
            var options = BackupOptions()
            options.delay = delay
            options.copiesOriginals = copies
            let started = Date()
            run.report.walkBegins()
            defer { run.report.walkEnded() }
            let source = run.attacher.source(groups, at: names, allowsChanging: allowsChanging)
            try await run.attacher.run(source, options: options)
            // Only groups from the settings get a time. For other groups, this would create the setting.
            if !run.report.tally.hasFailures, try await settings.exists(.backupGroups) {
                let included = Set(groups.filter { $0.mode == .include }.map(\.id))
                try await BackupSettings.noteBackup(of: included, at: started, settings)
            }
        }
    }
}
