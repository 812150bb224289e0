import ArgumentParser
import LFSBackup

/// How a push goes on after its first look at the folders.
struct WatchOptions: ParsableArguments {
    /// What the help of the command says.
    static let discussion = """
        With --watch it goes on until it is interrupted: files are taken that are
        closed after writing, or moved into the folders, and have not changed for
        --settle. --give-up-after does not end it then, but says what waits, and a
        copy of the database is saved every five minutes at the most. Where the system
        cannot tell of all changes, everything is walked now and then, which is said.
        It does not tell what another machine changes on a network mount, or what is
        written through a mapping: give --rescan for those. Times and permissions alone
        are recorded with the next push.
        """

    @Flag(name: .long, help: "Go on until interrupted: follow the folders, and push what changes.")
    var watch = false

    @Option(
        name: .long,
        help: ArgumentHelp("How long a file may not change before --watch takes it: 5s by default.", valueName: "time"))
    var settle: TimeSpan?

    @Option(
        name: .long,
        help: ArgumentHelp(
            "How often --watch walks everything as well: 15m by default while not all can be followed, else never.",
            valueName: "time"))
    var rescan: TimeSpan?

    func validate() throws {
        for (name, time) in [("--settle", settle), ("--rescan", rescan)] {
            guard let time else { continue }
            if !watch { throw ValidationError("\(name) is for --watch only.") }
            if time.duration == nil, name == "--settle" {
                throw ValidationError("--settle has to be a time, such as 5s.")
            }
        }
    }

    /// How the folders are followed; nil when they are not.
    var options: FollowOptions? {
        guard watch else { return nil }
        var options = FollowOptions()
        if let time = settle?.duration { options.settle = time }
        options.rescan = rescan?.duration
        return options
    }
}
