import ArgumentParser
import GRDB
import LFS

struct FreeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "free",
        abstract: "Free local copies of files that are on the storage; 'pull' fetches them again.",
        discussion: """
            Without a limit everything goes that may go. The copies that were not used for
            the longest time go first. Nothing goes over the network. What is not uploaded,
            or pinned, stays in any case. Files that are named go whatever the limits are.

            \(FileNaming.discussion)
            """)

    @OptionGroup var database: DatabaseOptions

    @Option(
        name: .long, help: ArgumentHelp("Keep the local copies within this size, such as 2GiB.", valueName: "size"))
    var keepBytes: ByteSize?

    @Option(
        name: .long,
        help: ArgumentHelp("Keep what was used or made within so many days, or a time such as 12h.", valueName: "days"))
    var olderThan: Age?

    @Option(
        name: .long,
        help: ArgumentHelp("Free until the disk has this much left, such as 10GiB.", valueName: "size"))
    var keepFree: ByteSize?

    @Flag(name: [.customShort("n"), .long], help: "Tell what would be freed, and free nothing.")
    var dryRun = false

    @Flag(name: .long, help: "Print one JSON object for each copy, the last one a summary.")
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
            try await LocalRun.run(database, named: naming, frees: true, json: json) { lfs, database, files, refusals in
                try await report.free(files, refusals, lfs, database)
            }
            return
        }
        try await LocalRun.run(database, frees: !dryRun, json: json) { lfs, database, table in
            let tell: @Sendable (EvictedCopy) async throws -> Void = { copy in
                try report.evicted(copy, try await database.read { db in try table.path(of: copy.id, db) })
            }
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
