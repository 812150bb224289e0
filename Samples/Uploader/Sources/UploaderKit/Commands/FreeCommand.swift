import ArgumentParser
import CommandLineOptions
import GRDB
import LFS

struct FreeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "free",
        abstract: "Free local copies of files that are on the storage.",
        usage: "uploader free --database <path> [<options>] [<file> ...]",
        discussion: """
            Only copies of files on the storage are freed. 'pull' downloads them again.
            Pinned files keep their copies. The copies that were not used for the longest
            time are freed first. Without a limit, all of them are freed. Files that are
            named are freed regardless of the limits ('uploader help names'). The settings
            cleanup.* name copies that stay. The command does not use the network.

            EXAMPLES
              Free all local copies but 2 GiB:
                uploader free --database photos.sqlite --keep-bytes 2GiB
              Show which copies would be freed to leave 10 GiB on the disk:
                uploader free --database photos.sqlite --keep-free 10GiB --dry-run
              Free the copies of one folder:
                uploader free --database photos.sqlite ~/Pictures/2019
            """)

    @OptionGroup var database: DatabaseOptions

    @Option(
        name: .long, help: ArgumentHelp("Keep at most this size of local copies, such as 2GiB.", valueName: "size"),
        transform: ByteSize.parse)
    var keepBytes: ByteSize?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "Free only copies not used or made within this time, such as 30d or 12h.", valueName: "time"),
        transform: TimeSpan.parseFinite)
    var olderThan: TimeSpan?

    @Option(
        name: .long,
        help: ArgumentHelp("Free copies until the disk has this much space left, such as 10GiB.", valueName: "size"),
        transform: ByteSize.parse)
    var keepFree: ByteSize?

    @Flag(name: [.customShort("n"), .long], help: "Show what would be freed. Free nothing.")
    var dryRun = false

    @Flag(name: .long, help: "Print one JSON object per copy, and a summary at the end.")
    var json = false

    @Flag(name: .shortAndLong, help: "Show errors only.")
    var quiet = false

    @OptionGroup var files: NameArguments

    func validate() throws {
        if files.naming != nil, dryRun || keepBytes != nil || olderThan != nil || keepFree != nil {
            throw ValidationError("Name files, or give limits and --dry-run, not both.")
        }
    }

    func run() async throws {
        let report = FreeReporter(json: json, isQuiet: quiet, isPreview: dryRun)
        if let naming = files.naming {
            let path = database.database
            try await LocalRun.run(database, named: naming, frees: true, json: json) { lfs, database, files, refusals in
                try await report.free(files, refusals: refusals, lfs: lfs, database: database, at: path)
            }
            return
        }
        try await LocalRun.run(database, frees: !dryRun, json: json) { lfs, database, table in
            let tell: @Sendable (EvictedCopy) async throws -> Void = { copy in
                try report.evicted(copy, path: try await database.read { db in try table.path(of: copy.id, db) })
            }
            var policy = policy
            if table.isOurs { try await CleanupSettings.apply(to: &policy, database: database) }
            let result =
                try await dryRun ? lfs.previewEviction(policy, onCopy: tell) : lfs.evict(policy, onCopy: tell)
            let hasAim = keepBytes != nil || keepFree != nil
            try report.end(result, hasAim: hasAim)
            if hasAim, result.shortfall > 0 { throw ExitCode(3) }
        }
    }

    private var policy: EvictionPolicy {
        var policy = EvictionPolicy(maxByteCount: keepBytes?.bytes, minAvailableByteCount: keepFree?.bytes)
        if keepBytes == nil, keepFree == nil { policy.maxByteCount = 0 }
        policy.keepsUsedWithin = olderThan?.duration
        return policy
    }
}
