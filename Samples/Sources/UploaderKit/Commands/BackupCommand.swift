import ArgumentParser
import Foundation
import LFS
import LFSBackup
import LFSSettings

struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup",
        abstract: "Back up folders: what is new or has changed, when network and power allow it.",
        discussion: """
            A file is backed up when it is in an included folder and in no excluded one.
            What was removed on purpose stays away, until it has other content; 'push'
            sends it again. Equal files are uploaded once.

            What is not given is taken from the settings: 'uploader settings list' shows
            them. While a condition is not met no upload begins, and 'status' tells which
            one; those under way go on. Of a storage that is a folder no setting asks for
            a network.
            """)

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var transfer: TransferOptions
    @OptionGroup var server: SyncServerOptions
    @OptionGroup var output: OutputOptions

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Folders and files, each with include: or exclude: before it; ~/ is the home folder.",
            valueName: GroupsArgument.form))
    var groups: [GroupsArgument] = []

    @Option(
        name: .long,
        help: ArgumentHelp(
            "When uploads may begin: unmetered (a cable or Wi-Fi), mains, both with a comma between, or always.",
            valueName: "conditions"))
    var when: ConditionsArgument?

    @Option(
        name: .long,
        help: ArgumentHelp("How long the upload of a new file waits, up to a day: 90s, 10m, 2h.", valueName: "time"))
    var delay: DelayArgument?

    @Flag(
        name: .long,
        help: "Take of a file that others write to, such as a log, what was there at the start, and no error.")
    var allowChanging = false

    @Option(name: .long, help: ArgumentHelp("Where proc and sys are.", visibility: .hidden))
    var systemRoot = "/"

    private static let nothingIncluded = UploaderError(
        "No folder is to be backed up. Give --groups include:PATH, or set backup.groups in the settings.")

    func run() async throws {
        let (given, when, delay, root) = (groups.flatMap(\.groups), when, delay, systemRoot)
        let allowsChanging = allowChanging
        let names = groups.reduce(into: [:]) { $0.merge($1.names) { $1 } }
        let included = given.filter { $0.mode == .include }
        if given.isEmpty {
            // Without a database there are no settings that could name a folder.
            try reportingErrors(json: output.json) {
                if case .nobody = try DatabaseFile(at: database.database).owner { throw Self.nothingIncluded }
            }
        } else if !included.isEmpty {
            let paths = included.map { group in names[group.id].map { FilePath($0) } ?? FilePath(group.id) }
            try FirstRun.requireAny(of: paths, database, transfer, output)
        }
        try await UploadRun.run(database, transfer, output, .making, sync: server.sync) { run in
            // Closed with the database, at the end of the process: it has no task of its own.
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
            let wait = if let delay { delay.duration } else { try await settings.get(.backupDelay) }
            return Preparation(gate: gate, delay: wait, extra: (settings, wait))
        } _: { run, extra in
            let (settings, delay) = extra
            let groups = try await given.isEmpty ? settings.get(.backupGroups) : given
            guard groups.contains(where: { $0.mode == .include }) else {
                throw Self.nothingIncluded
            }
            var options = BackupOptions()
            options.delay = delay
            let started = Date()
            run.report.walkBegins()
            defer { run.report.walkEnded() }
            let source = run.attacher.source(groups, at: names, allowsChanging: allowsChanging)
            try await run.attacher.run(source, options)
            // A note of groups that are not in the settings would set them.
            if !run.report.tally.hasFailures, try await settings.exists(.backupGroups) {
                let included = Set(groups.filter { $0.mode == .include }.map(\.id))
                try await BackupSettings.noteBackup(of: included, at: started, settings)
            }
        }
    }
}
