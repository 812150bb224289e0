import ArgumentParser

struct SettingsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "settings",
        abstract: "Measure settings and secrets against what an app would write by hand.",
        discussion: """
            Each call and its rival have their turns one after the other, in one process:
            GRDB's own reads and writes of a table of the same columns, the same file with
            the same fsyncs, the bare work of an envelope. Databases and files are made in
            TMPDIR.
            """)

    @OptionGroup var turns: TurnOptions
    @OptionGroup var rounds: RoundOptions

    func run() throws {
        try measuring { environment, temporary, runner in
            try turns.show(
                "Settings, beside what an app would write by hand", rounds: rounds, environment: environment,
                temporary: temporary, runner: runner,
                probe: ["settings"])
        }
    }
}

struct CacheCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "cache", abstract: "Measure the cache against a dictionary and against files.",
        discussion: """
            Each call and its rival have their turns one after the other, in one process.
            What is read from the disk is in the system's memory already, for both. Who
            waits for a disk on one of Swift's few threads keeps other tasks from them, so
            a file is also read on another thread, as the cache reads.
            """)

    @Option(name: .long, help: "How many entries are stored to see what one takes.")
    var entries = 10_000
    @OptionGroup var turns: TurnOptions
    @OptionGroup var rounds: RoundOptions

    func validate() throws {
        guard (1...1_000_000).contains(entries) else { throw ValidationError("--entries has to be from 1 to 1000000.") }
    }

    func run() throws {
        try measuring { environment, temporary, runner in
            try turns.show(
                "The cache, beside a dictionary and files", rounds: rounds, environment: environment,
                temporary: temporary, runner: runner,
                probe: ["cache", "--entries", "\(entries)"])
        }
    }
}

/// The number of turns that each compared way of the same work gets.
struct TurnOptions: ParsableArguments {
    @Option(name: .long, help: "How many turns each way has in a round.")
    var turns = 10
    @Option(name: .long, help: ArgumentHelp("Measure only what has this in its name.", valueName: "name"))
    var only = ""

    func validate() throws {
        guard (1...10_000).contains(turns) else { throw ValidationError("--turns has to be from 1 to 10000.") }
    }

    /// Runs the probe once per round and prints the report.
    func show(
        _ title: String, rounds: RoundOptions, environment: [String: String], temporary: TemporaryFolder,
        runner: ChildRunner, probe: [String]
    ) throws -> Bool {
        let samples = try (1...rounds.rounds).map { round in
            let folder = try temporary.makeFolder("\(round)")
            // UserDefaults are stored in files below the home folder.
            let home = ["HOME": folder, "CFFIXED_USER_HOME": folder, "XDG_CONFIG_HOME": folder]
            let probes = ProbeRunner(runner: runner, environment: environment.merging(home) { $1 })
            let sample = try probes.run(
                probe + ["--turns", "\(turns)", "--only", only, "--folder", folder], as: ContestSample.self
            ).value
            Console.message("round \(round) of \(rounds.rounds)")
            return sample
        }
        guard samples.allSatisfy({ !$0.contests.isEmpty }) else {
            throw BenchError("Nothing that is measured has “\(only)” in its name. Leave out --only to see all names.")
        }
        try rounds.show(ContestReport(title: title, samples: samples))
        return true
    }
}
