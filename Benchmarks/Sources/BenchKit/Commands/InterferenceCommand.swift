import ArgumentParser

struct InterferenceCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "interference",
        abstract: "Measure what uploads do to the app's own writes in the same database.",
        discussion: """
            An app writes a small row, waits a moment, and writes the next: while nothing is
            uploaded, and while its files are. The storage is in the process, keeps nothing
            and takes --latency for each file, as a server nearby does; with 0 the uploads
            come as fast as the library can make them, which no server allows. The database
            is made in TMPDIR, in WAL mode with synchronous=NORMAL, as GRDB opens it. Every
            round is a process of its own.
            """)

    @Option(name: .long, help: "How many uploads.")
    var files = 10_000

    @Option(name: .long, help: "The size of each: 10KiB.")
    var size = ByteSize(bytes: 10_240)

    @Option(name: .long, help: "How many writes are measured while nothing is uploaded.")
    var writes = 1_000

    @Option(name: .long, help: "Milliseconds from the end of a write to the next one.")
    var pause = 2

    @Option(name: .long, help: "Milliseconds that the storage takes for an upload.")
    var latency = 10

    @Option(name: .long, help: "How many uploads may run at once.")
    var connections = 10

    @OptionGroup var rounds: RoundOptions

    func validate() throws {
        guard (1...1_000_000).contains(files) else { throw ValidationError("--files has to be from 1 to 1000000.") }
        guard size.bytes <= 1 << 30 else { throw ValidationError("--size has to be at most 1GiB.") }
        guard (2...1_000_000).contains(writes) else { throw ValidationError("--writes has to be from 2 to 1000000.") }
        guard (0...10_000).contains(pause), (0...10_000).contains(latency) else {
            throw ValidationError("--pause and --latency have to be from 0 to 10000.")
        }
        guard (1...1_000).contains(connections) else {
            throw ValidationError("--connections has to be from 1 to 1000.")
        }
    }

    func run() throws {
        try measuring { environment, temporary, runner in
            let probes = ProbeRunner(runner: runner, environment: environment)
            let samples = try (1...rounds.rounds).map { round in
                let folder = try temporary.makeFolder("\(round)")
                let (sample, _) = try probes.run(arguments(folder), as: InterferenceSample.self)
                Console.message(
                    "round \(round) of \(rounds.rounds): p50 × \(Format.decimal(sample.medianRatio, places: 2)), p99 + "
                        + "\(Format.decimal(sample.addedP99 * 1_000, places: 3)) ms")
                return sample
            }
            try rounds.show(
                InterferenceReport(
                    bytesPerFile: size.bytes, pauseMilliseconds: pause, latencyMilliseconds: latency,
                    connections: connections, samples: samples))
            return true
        }
    }

    private func arguments(_ folder: String) -> [String] {
        [
            "interference", "--files", "\(files)", "--bytes", "\(size.bytes)", "--writes", "\(writes)", "--pause",
            "\(pause)", "--latency", "\(latency)", "--connections", "\(connections)", "--folder", folder,
        ]
    }
}
