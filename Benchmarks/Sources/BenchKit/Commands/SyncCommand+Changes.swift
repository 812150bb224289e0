import ArgumentParser

extension SyncCommand {
    struct Changes: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Measure a sync of a few changes among many rows, and one of none.")

        @Option(name: .long, help: "Numbers of rows, separated by commas.", transform: SyncCommand.sizes)
        var rows = [10_000, 1_000_000]
        @Option(name: .long, help: "How many rows another device changes each time.")
        var changes = 100
        @Option(name: .long, help: "How many times, in each round.")
        var times = 20
        @OptionGroup var server: LFSServerOptions
        @OptionGroup var rounds: RoundOptions

        func validate() throws {
            guard (1...1_000).contains(changes), rows.allSatisfy({ $0 >= changes }) else {
                throw ValidationError("--changes has to be from 1 to 1000, and not more than --rows.")
            }
            guard (1...1_000).contains(times) else { throw ValidationError("--times has to be from 1 to 1000.") }
        }

        func run() throws {
            try measuring { environment, temporary, runner in
                let server = try server.path(from: environment)
                let probes = ProbeRunner(runner: runner, environment: environment)
                let samples = try rows.flatMap { rows in
                    try (0..<rounds.rounds).map { round in
                        let source = try temporary.makeFolder("\(rows)-\(round)")
                        try probes.run(["sync-maker", "--rows", "\(rows)", "--sessions", "1", "--folder", source])
                        return try probes.run(
                            [
                                "sync-changes", "--server", server, "--source", source, "--folder", source, "--rows",
                                "\(rows)", "--changes", "\(changes)", "--times", "\(times)",
                            ], as: SyncChangesSample.self
                        ).value
                    }
                }
                try rounds.show(SyncChangesReport(samples: samples))
                return true
            }
        }
    }
}
