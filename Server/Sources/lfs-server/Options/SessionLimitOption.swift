import ArgumentParser

/// The maximum number of sessions per account, for commands that create sessions.
struct SessionLimitOption: ParsableArguments {
    @Option(help: ArgumentHelp("The maximum number of sessions of an account.", valueName: "count"))
    var sessionLimit = 50

    func validate() throws {
        guard (1...1_000_000).contains(sessionLimit) else {
            throw ValidationError("--session-limit has to be from 1 to 1000000.")
        }
    }
}
