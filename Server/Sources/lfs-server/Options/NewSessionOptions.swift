import ArgumentParser
import CommandLineOptions
import LFSSyncServer

/// The limits of new sessions, for commands that create sessions.
struct NewSessionOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The maximum number of sessions of an account.", valueName: "count"))
    var sessionLimit = 50

    @Option(
        help: ArgumentHelp(
            "The time after its last use at which a new session expires, or 'never'. The default is 90d.",
            valueName: "time"),
        transform: TimeSpan.parse)
    var sessionIdle = TimeSpan.days(90)

    /// Sets the options of a service.
    func apply(to options: inout SyncServiceOptions) {
        options.sessionLimit = sessionLimit
        options.sessionIdleTime = sessionIdle.duration
    }

    func validate() throws {
        guard sessionIdle.seconds >= 86_400 else { throw ValidationError("--session-idle has to be at least 1d.") }
        guard (1...1_000_000).contains(sessionLimit) else {
            throw ValidationError("--session-limit has to be from 1 to 1000000.")
        }
    }
}
