import ArgumentParser

struct IngestCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ingest",
        abstract: "Measure how long an app waits until its files are durable.",
        discussion: """
            each      makeFile, one small file after the other
            batches   makeFiles, 64 at a time, each batch with its rows in one synced
                      transaction, until the bytes are where they stay
            large     makeFile of one large file; beside it cp with a sync afterwards
            whole-way does the same in plain C, with one thread. Files and databases are made
            in TMPDIR. Every run is a process of its own.
            """)

    @Option(name: .long, help: "How many small files.")
    var files = 2_000

    @Option(name: .long, help: "The size of each: 10KiB.")
    var size = ByteSize(bytes: 10_240)

    @Option(name: .long, help: "The size of the large file: 512MiB.")
    var largeSize = ByteSize(bytes: 512 << 20)

    @Option(name: .long, help: "The program whole-way. The default is the one next to this program.")
    var wholeWay: String?

    @OptionGroup var rounds: RoundOptions

    func validate() throws {
        guard (1...1_000_000).contains(files) else { throw ValidationError("--files has to be from 1 to 1000000.") }
    }

    func run() throws {
        try measuring { environment, temporary, runner in
            let finder = ToolFinder(
                given: wholeWay.map { [.wholeWay: $0] } ?? [:], environment: environment, runner: runner)
            let (installed, missing) = try finder.find([.wholeWay, .cp])
            let goesOn = { if runner.interruption != nil { throw Interrupted() } }
            let (small, large) = (
                Workload(files: files, bytesPerFile: size.bytes), Workload(files: 1, bytesPerFile: largeSize.bytes)
            )
            let (smallFolder, largeFolder) = (try temporary.makeFolder("small"), try temporary.makeFolder("large"))
            try small.make(in: smallFolder, while: goesOn)
            try large.make(in: largeFolder, while: goesOn)
            let comparison = IngestComparison(
                small: (small, smallFolder), large: (large, largeFolder),
                tools: [InstalledTool(.lfs, executable: "")] + installed, rounds: rounds.rounds,
                environment: environment, temporary: temporary, runner: runner)
            let samples = try comparison.run()
            try rounds.show(IngestReport(small: small, large: large, samples: samples, missing: missing))
            return true
        }
    }
}
