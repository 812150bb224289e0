import ArgumentParser

/// The commands that measure a device during its first sync.
extension SyncCommand {
    struct Resume: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Measure how soon an interrupted first sync continues, and what it repeats.")

        @Option(name: .long, help: "How many rows.")
        var rows = 100_000
        @Option(name: .long, help: "How many times it is cut off.")
        var cuts = 50
        @OptionGroup var server: LFSServerOptions
        @OptionGroup var rounds: RoundOptions

        func validate() throws {
            guard (1...1_000).contains(cuts), (cuts * 2_000...10_000_000).contains(rows) else {
                throw ValidationError("--cuts has to be from 1 to 1000, and --rows 2000 for each of them or more.")
            }
        }

        func run() throws {
            try measuring { environment, temporary, runner in
                let server = try server.path(from: environment)
                let probes = ProbeRunner(runner: runner, environment: environment)
                let source = try temporary.makeFolder("source")
                try probes.run([
                    "sync-maker", "--rows", "\(rows)", "--sessions", "\(rounds.rounds)", "--folder", source,
                ])
                let samples = try (0..<rounds.rounds).map { round in
                    try probes.run(
                        [
                            "sync-resume", "--server", server, "--source", source, "--folder",
                            try temporary.makeFolder("\(round)"), "--session", "\(round)", "--cuts", "\(cuts)",
                        ], as: SyncResumeSample.self
                    ).value
                }
                try rounds.show(SyncResumeReport(samples: samples))
                return true
            }
        }
    }

    struct Writes: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Measure the app's own writes, idle and during a first sync.")

        @Option(name: .long, help: "How many rows come meanwhile.")
        var rows = 200_000
        @Option(name: .long, help: "The number of measured writes while nothing arrives.")
        var writes = 2_000
        @Option(name: .long, help: "Between the end of a write and the next one, in milliseconds.")
        var pause = 1
        @OptionGroup var server: LFSServerOptions
        @OptionGroup var rounds: RoundOptions

        func validate() throws {
            guard (1...10_000_000).contains(rows) else { throw ValidationError("--rows has to be from 1 to 10000000.") }
            guard (1...1_000_000).contains(writes) else {
                throw ValidationError("--writes has to be from 1 to 1000000.")
            }
            guard (0...1_000).contains(pause) else { throw ValidationError("--pause has to be from 0 to 1000.") }
        }

        func run() throws {
            try measuring { environment, temporary, runner in
                let server = try server.path(from: environment)
                let probes = ProbeRunner(runner: runner, environment: environment)
                let source = try temporary.makeFolder("source")
                try probes.run([
                    "sync-maker", "--rows", "\(rows)", "--sessions", "\(rounds.rounds)", "--folder", source,
                ])
                let samples = try (0..<rounds.rounds).map { round in
                    try probes.run(
                        [
                            "sync-writes", "--server", server, "--source", source, "--folder",
                            try temporary.makeFolder("\(round)"), "--session", "\(round)", "--writes", "\(writes)",
                            "--pause", "\(pause)",
                        ], as: SyncWritesSample.self
                    ).value
                }
                try rounds.show(SyncWritesReport(samples: samples))
                return true
            }
        }
    }
}
