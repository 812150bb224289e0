import ArgumentParser

/// The commands that measure a sync server.
extension SyncCommand {
    struct Live: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Measure sessions whose streams stay open, and how soon they hear.")

        @Option(name: .long, help: "How many sessions of one account.")
        var sessions = 1_000
        @Option(name: .long, help: "How many commits reach all of them.")
        var commits = 20
        @OptionGroup var server: LFSServerOptions
        @OptionGroup var rounds: RoundOptions

        func validate() throws {
            guard (1...20_000).contains(sessions) else {
                throw ValidationError("--sessions has to be from 1 to 20000.")
            }
            guard (1...1_000).contains(commits) else { throw ValidationError("--commits has to be from 1 to 1000.") }
        }

        func run() throws {
            try measuring { environment, temporary, runner in
                let server = try server.path(from: environment)
                let probes = ProbeRunner(runner: runner, environment: environment)
                let samples = try (0..<rounds.rounds).map { round in
                    let source = try temporary.makeFolder("\(round)")
                    try probes.run([
                        "sync-maker", "--rows", "\(SyncLiveProbe.rows)", "--sessions", "\(sessions)", "--folder",
                        source,
                    ])
                    return try probes.run(
                        [
                            "sync-live", "--server", server, "--source", source, "--sessions", "\(sessions)",
                            "--commits", "\(commits)",
                        ], as: SyncLiveSample.self
                    ).value
                }
                try rounds.show(SyncLiveReport(samples: samples))
                return true
            }
        }
    }

    struct Readers: ParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Measure devices that read slowly, and what others feel of them.")

        @Option(name: .long, help: "How many devices read slowly.")
        var readers = 200
        @Option(name: .long, help: "How fast each of them is, bytes a second.")
        var rate = 8_192
        @Option(name: .long, help: "How many rows they want.")
        var rows = 100_000
        @Option(name: .long, help: "How long they read.")
        var seconds = 20
        @OptionGroup var server: LFSServerOptions
        @OptionGroup var rounds: RoundOptions

        func validate() throws {
            guard (1...20_000).contains(readers) else { throw ValidationError("--readers has to be from 1 to 20000.") }
            guard (50...1_000_000_000).contains(rate) else {
                throw ValidationError("--rate has to be from 50 to 1000000000.")
            }
            guard (1...10_000_000).contains(rows) else { throw ValidationError("--rows has to be from 1 to 10000000.") }
            guard (1...3_600).contains(seconds) else { throw ValidationError("--seconds has to be from 1 to 3600.") }
        }

        func run() throws {
            try measuring { environment, temporary, runner in
                let server = try server.path(from: environment)
                let probes = ProbeRunner(runner: runner, environment: environment)
                let source = try temporary.makeFolder("source")
                try probes.run([
                    "sync-maker", "--rows", "\(rows)", "--sessions", "\(readers)", "--folder", source,
                ])
                let samples = try (0..<rounds.rounds).map { _ in
                    try probes.run(
                        [
                            "sync-readers", "--server", server, "--source", source, "--readers", "\(readers)",
                            "--rate", "\(rate)", "--seconds", "\(seconds)",
                        ], as: SyncReadersSample.self
                    ).value
                }
                try rounds.show(SyncReadersReport(samples: samples))
                return true
            }
        }
    }
}
