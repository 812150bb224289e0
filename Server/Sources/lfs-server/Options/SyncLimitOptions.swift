import ArgumentParser
import LFSSyncServer

/// How much devices that share rows may ask, and what becomes of their conflicts.
struct SyncLimitOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Requests of an account to /v1/sync, each second on average.", valueName: "count"))
    var requestsPerSecond = 10

    @Option(
        help: ArgumentHelp(
            "After how long a stream that stays open ends, so that the device asks again. Less than what a proxy in "
                + "front allows.", valueName: "seconds"))
    var liveSeconds = 600

    @Option(
        help: ArgumentHelp(
            """
            A table in which a change is refused if the row has changed since the device saw it; in the others the \
            later arrival wins. May be there more than once.
            """, valueName: "table"))
    var rejectStale: [String] = []

    /// Whether any of them was written.
    var areGiven: Bool { requestsPerSecond != 10 || liveSeconds != 600 || !rejectStale.isEmpty }

    func validate() throws {
        guard (1...1_000_000).contains(requestsPerSecond) else {
            throw ValidationError("--requests-per-second has to be from 1 to 1000000.")
        }
        guard (30...86_400).contains(liveSeconds) else {
            throw ValidationError("--live-seconds has to be from 30 to 86400.")
        }
    }

    func options() -> SyncServiceOptions {
        var options = SyncServiceOptions()
        options.requestsPerSecond = requestsPerSecond
        options.longestStream = .seconds(liveSeconds)
        for table in rejectStale { options.conflicts[table] = .rejectStale }
        return options
    }
}
