import ArgumentParser
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

    @Option(name: .long, help: ArgumentHelp("Keep what was used or made within this many days.", valueName: "days"))
    var olderThan: Double?

    @Option(
        name: .long,
        help: ArgumentHelp("Free until the disk has this much left, such as 10GiB.", valueName: "size"))
    var keepFree: ByteSize?

    @Flag(name: .long, help: "Tell what would be freed, and free nothing.")
    var dryRun = false

    @Flag(name: .long, help: "Print one JSON object for each copy, the last one a summary.")
    var json = false

    @OptionGroup var files: NameArguments

    func validate() throws {
        if let olderThan, !(0...36_500).contains(olderThan) {
            throw ValidationError("--older-than has to be a number of days from 0 to 36500.")
        }
        if files.naming != nil, dryRun || keepBytes != nil || olderThan != nil || keepFree != nil {
            throw ValidationError("Name files, or give limits and --dry-run, not both.")
        }
    }

    func run() async throws {
        let report = FreeReporter(json: json, isPreview: dryRun)
        if let naming = files.naming {
            try await LocalRun.run(database, named: naming, frees: true) { lfs, files, refusals in
                try await report.free(files, refusals, lfs)
            }
            return
        }
        try await LocalRun.run(database, frees: !dryRun) { lfs in
            let result =
                dryRun
                ? try await lfs.previewEviction(policy) { try report.evicted($0) }
                : try await lfs.evict(policy) { try report.evicted($0) }
            let hasAim = keepBytes != nil || keepFree != nil
            try report.end(result, hasAim: hasAim)
            if hasAim, result.shortfall > 0 { throw ExitCode(3) }
        }
    }

    private var policy: EvictionPolicy {
        var policy = EvictionPolicy(maxByteCount: keepBytes?.bytes, minAvailableByteCount: keepFree?.bytes)
        if keepBytes == nil, keepFree == nil { policy.maxByteCount = 0 }
        policy.keepsUsedWithin = olderThan.map { .seconds($0 * 86_400) }
        return policy
    }
}
