import ArgumentParser
import CommandLineOptions
import LFS

struct VerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Compare records, local copies and objects, and repair problems.",
        usage: "uploader verify --database <path> [<options>]",
        discussion: """
            Without --repair, problems are only reported. Only --read-data finds damage on
            the storage. --read-data=10% or =20GiB reads a part, the objects that were read
            longest ago first.

            --repair takes intact bytes from this device, the storage or the originals. If
            no intact bytes of a file remain, it is recorded as lost, and later runs report
            it as known. Exit status 5 means that problems remain.

            More options: 'uploader help verifying', 'options'.

            EXAMPLES
              Report problems, and repair them:
                uploader verify --database photos.sqlite
                uploader verify --database photos.sqlite --repair
              Read a thirtieth of the storage every night:
                uploader verify --database photos.sqlite --read-data=1/30
            """)

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var transfer: TransferOptions
    @OptionGroup(visibility: .detail) var output: OutputOptions

    @Flag(name: .long, help: "Repair problems that can be repaired without data loss.")
    var repair = false

    @Flag(name: .long, help: "Read all local copies and compare their SHA-256.")
    var content = false

    @Flag(name: .long, help: "Download all objects and compare their SHA-256.")
    var readData = false

    // Users of other tools know the second name.
    @Option(
        name: [.long, .customLong("read-data-subset")], help: ReadShare.help, transform: ReadShare.init(parsing:))
    var readShare: ReadShare?

    @Flag(name: .long, help: "Compare records and local copies only.")
    var localOnly = false

    @Flag(
        name: .long,
        help: ArgumentHelp("Continue even if the storage, or a new local folder, is empty.", visibility: .detail))
    var acceptEmpty = false

    @Flag(
        name: .long,
        help: "With --repair, delete files and objects without a record for good.")
    var removeUnknown = false

    @Option(
        name: .long,
        help: ArgumentHelp(
            "The age at which an object without a record is reported, such as 12h. By default 7d.",
            valueName: "time", visibility: .detail), transform: TimeSpan.parseFinite)
    var orphanAge: TimeSpan?

    func validate() throws {
        if removeUnknown, !repair { throw ValidationError("--remove-unknown needs --repair.") }
        if readData || readShare != nil, localOnly {
            throw ValidationError("--read-data asks the storage, and --local-only does not.")
        }
    }

    private var options: VerifyOptions {
        var options = VerifyOptions()
        options.repairs = repair
        options.checksContent = content
        options.checksRemote = !localOnly
        options.acceptsEmpty = acceptEmpty
        options.removesUnknown = removeUnknown
        // A file enters the local store only after its record was committed, so a file without a record is an orphan at
        // any age.
        options.localGracePeriod = .zero
        options.remoteGracePeriod = orphanAge?.duration ?? .seconds(7 * 86_400)
        return options
    }

    func run() async throws {
        let reading: VerifyRun.Reading = readShare.map { .share($0) } ?? (readData ? .all : .nothing)
        try await reportingErrors(json: output.json) {
            try VerifyRun(database, transfer: transfer, output: output, options: options, reading: reading)
        }
        .run()
    }
}
