import ArgumentParser
import CommandLineOptions
import LFSBackup

/// The options of a push that continues after its first walk.
struct WatchOptions: ParsableArguments {
    @Flag(name: .long, help: "Continue until interrupted, and push changes as they happen.")
    var watch = false

    @Option(
        name: .long,
        help: ArgumentHelp(
            "How long a file must be unchanged before --watch takes it. 5s by default.", valueName: "time",
            visibility: .detail), transform: TimeSpan.parseFinite)
    var settle: TimeSpan?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "How often --watch walks all folders. By default 15m while not all can be watched or a file has failed, "
                + "otherwise never.", valueName: "time", visibility: .detail), transform: TimeSpan.parse)
    var rescan: TimeSpan?

    func validate() throws {
        for (name, time) in [("--settle", settle), ("--rescan", rescan)] {
            guard let time else { continue }
            if !watch { throw ValidationError("\(name) is for --watch only.") }
            if time.seconds < 0.1 { throw ValidationError("\(name) has to be at least 100ms.") }
        }
    }

    /// The options of the follower. Nil without `--watch`.
    var options: FollowOptions? {
        guard watch else { return nil }
        var options = FollowOptions()
        if let time = settle?.duration { options.settle = time }
        options.rescan = rescan?.duration
        return options
    }
}
