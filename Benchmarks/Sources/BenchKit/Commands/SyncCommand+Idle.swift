import ArgumentParser

extension SyncCommand {
    struct Idle: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Measure syncs with nothing to get, of a device that may read many scopes.")

        @Option(name: .long, help: "Numbers of scopes, separated by commas.", transform: SyncCommand.sizes)
        var scopes = [1, 1_000]
        @Option(name: .long, help: "How many times, in each round.")
        var times = 200
        @OptionGroup var server: LFSServerOptions
        @OptionGroup var rounds: RoundOptions

        func validate() throws {
            guard scopes.allSatisfy({ (1...1_000).contains($0) }) else {
                throw ValidationError("--scopes has to be from 1 to 1000, which is the most that an account may have.")
            }
            guard (1...100_000).contains(times) else { throw ValidationError("--times has to be from 1 to 100000.") }
        }

        func run() throws {
            try measuring { environment, temporary, runner in
                let server = try server.path(from: environment)
                let probes = ProbeRunner(runner: runner, environment: environment)
                let samples = try scopes.flatMap { scopes in
                    try (0..<rounds.rounds).map { round in
                        let source = try temporary.makeFolder("\(scopes)-\(round)")
                        try probes.run([
                            "sync-maker", "--rows", "1", "--sessions", "1", "--partners", "\(scopes - 1)", "--folder",
                            source,
                        ])
                        return try probes.run(
                            [
                                "sync-idle", "--server", server, "--source", source, "--folder", source, "--scopes",
                                "\(scopes)", "--times", "\(times)",
                            ], as: SyncIdleSample.self
                        ).value
                    }
                }
                try rounds.show(SyncIdleReport(samples: samples))
                return true
            }
        }
    }
}
