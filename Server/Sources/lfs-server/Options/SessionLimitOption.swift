import ArgumentParser

/// How many sessions an account may have, where sessions are made.
struct SessionLimitOption: ParsableArguments {
    @Option(help: ArgumentHelp("Sessions of an account at the most.", valueName: "count"))
    var sessionLimit = 50

    func validate() throws {
        guard (1...1_000_000).contains(sessionLimit) else {
            throw ValidationError("--session-limit has to be from 1 to 1000000.")
        }
    }
}
