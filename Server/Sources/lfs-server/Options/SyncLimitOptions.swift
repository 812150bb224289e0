import ArgumentParser
import CommandLineOptions
import LFSSyncServer

/// The limits of sync requests, and the conflict rules.
struct SyncLimitOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Requests to /v1/sync per account and second, on average.", valueName: "count"))
    var requestsPerSecond = 10

    @Option(
        help: ArgumentHelp(
            "The time after which an open stream ends and the device connects again. Choose less than the timeout of "
                + "a proxy in front. The default is 10m.", valueName: "time"), transform: TimeSpan.parseFinite)
    var streamLifetime = TimeSpan.minutes(10)

    @Option(
        help: ArgumentHelp(
            """
            A table in which the server refuses a change to a row that has changed since the device received it. \
            In other tables the change that arrives last wins. Can be given several times.
            """, valueName: "table"))
    var rejectStale: [String] = []

    /// Indicates that at least one of the options is given.
    var isGiven: Bool { requestsPerSecond != 10 || streamLifetime.seconds != 600 || !rejectStale.isEmpty }

    func validate() throws {
        guard (1...1_000_000).contains(requestsPerSecond) else {
            throw ValidationError("--requests-per-second has to be from 1 to 1000000.")
        }
        guard (30...86_400).contains(streamLifetime.seconds) else {
            throw ValidationError("--stream-lifetime has to be from 30s to 1d.")
        }
    }

    func options() -> SyncServiceOptions {
        var options = SyncServiceOptions()
        options.requestsPerSecond = requestsPerSecond
        options.longestStream = .seconds(streamLifetime.seconds)
        for table in rejectStale { options.conflicts[table] = .rejectStale }
        return options
    }
}
