import ArgumentParser
import LFS

struct VerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Compare records, local files and remote objects, and mend what can be mended.",
        discussion: """
            Without --repair nothing is mended: each finding is named, with what could be
            done about it, and objects that are missing or damaged are noted, so that
            'status' tells of them and 'push' of their originals heals them. The number of
            bytes of every local file is checked, and with --content its SHA-256 as well,
            for which all of them are read. --read-data fetches every object and compares
            its SHA-256: only that finds what went bad on the storage since.

            What was read when is noted in the database. A --read-data that is interrupted
            goes on where it was, when it is run again within a week. --read-data=10% reads
            a tenth of all bytes, that which was read longest ago: ten such runs read
            everything. --read-data=1/10 is the same, and --read-data=20GiB reads so much
            at the most, and one object in any case.

            With --repair, files whose bytes are right here are uploaded again, files that
            are right on the storage are fetched again, files of which neither has right
            bytes are taken from their originals, where these still have them. Damaged
            bytes that may be the only ones are moved into the folder 'quarantine' of the
            database's own folder, and failed uploads and deletions are tried again.
            Whatever is pending is uploaded as well, as 'resume' does.

            Files and objects that no record knows are named, objects when they are older
            than --orphan-age, and stay: a database that was put back from a backup, or was
            copied to another machine, does not know the files that were made elsewhere
            since. --remove-unknown deletes them for good, their objects on the storage
            included, even while another copy is in use: give it only when this is the one
            copy that is left and nothing is missed.

            A file of which no right bytes are left anywhere is noted as lost. Later runs
            name it as known and do not count it. 'push' of its original ends that, if it
            has the same bytes; so do 'remove', and putting the bytes back and verifying
            with --repair once more.

            EXIT STATUS
              0    nothing was found, or all of it was repaired, or is known
              1    the command could not do its job, as when the storage is another one,
                   or is empty
              3    what was mended waits for its upload or deletion, and the time of
                   --give-up-after is over
              5    something was found and is left
              64   the command line is wrong
              130  interrupted by Ctrl-C, 143 by SIGTERM, 129 by the end of the terminal
            """)

    @OptionGroup var database: DatabaseOptions
    @OptionGroup var transfer: TransferOptions
    @OptionGroup var output: OutputOptions

    @Flag(name: .long, help: "Mend what can be mended without losing anything.")
    var repair = false

    @Flag(name: .long, help: "Read all local bytes and compare their SHA-256.")
    var content = false

    @Flag(name: .long, help: "Fetch all objects and compare their SHA-256.")
    var readData = false

    // Users of other tools know the second name.
    @Option(
        name: [.long, .customLong("read-data-subset")], help: ReadShare.help, transform: ReadShare.init(parsing:))
    var readShare: ReadShare?

    @Flag(name: .long, help: "Compare records and local files only.")
    var localOnly = false

    @Flag(name: .long, help: "Go on even if nothing at all is found on the storage, or in a new local folder.")
    var acceptEmpty = false

    @Flag(
        name: .long,
        help: "With --repair, also delete for good what no record knows; another copy of this database may.")
    var removeUnknown = false

    @Option(
        name: .long,
        help: ArgumentHelp(
            "How old an object without a record has to be to be an orphan: days, or a time such as 12h; 7 by default.",
            valueName: "days"))
    var orphanAge: Age?

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
        // A file gets into the local store only after its record was committed, so one without is an orphan at any age.
        options.localGracePeriod = .zero
        options.remoteGracePeriod = orphanAge?.duration ?? .seconds(7 * 86_400)
        return options
    }

    func run() async throws {
        let reading: VerifyRun.Reading = readShare.map { .share($0) } ?? (readData ? .all : .nothing)
        try await reportingErrors(json: output.json) { try VerifyRun(database, transfer, output, options, reading) }
            .run()
    }
}
