import ArgumentParser
import Foundation

struct BacklogCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backlog",
        abstract: "Measure how a manager begins with many uploads that wait, and what an idle one does.",
        discussion: """
            For each size a database is made whose rows all wait for their upload; the oldest
            ones have bytes. Then a manager is opened and started on it, in a process of its
            own each time, with a storage that takes everything at once, until so many
            uploads have ended. The database is in the caches of the system. A million rows
            take a gigabyte in TMPDIR.
            """)

    @Option(name: .long, help: "Numbers of rows, separated by commas.", transform: BacklogCommand.sizes)
    var rows = [10_000, 100_000, 1_000_000]

    @Option(name: .long, help: "How many uploads are measured.")
    var uploads = 1_000

    @Option(name: .long, help: "How long an idle manager is watched, in seconds.")
    var idle = 10.0

    @OptionGroup var rounds: RoundOptions

    func validate() throws {
        guard (1...100_000).contains(uploads) else { throw ValidationError("--uploads has to be from 1 to 100000.") }
        guard (0.1...3_600).contains(idle) else { throw ValidationError("--idle has to be from 0.1 to 3600.") }
        let least = filesWithBytes
        guard rows.allSatisfy({ $0 >= least }) else {
            throw ValidationError("--rows has to be at least \(least), the number of files with bytes.")
        }
    }

    func run() throws {
        try measuring { environment, temporary, runner in
            let probes = ProbeRunner(runner: runner, environment: environment)
            let folders = try rows.map { rows in
                Console.message("making \(Format.count(rows, noun: "row"))")
                return try make(rows, in: temporary, probes: probes)
            }
            var sizes = rows.map { BacklogReport.Size(rows: $0, samples: []) }
            for round in 0..<rounds.rounds {
                for index in Schedule.order(of: Array(rows.indices), round: round) {
                    Disk.settle()
                    let arguments = ["backlog", "--uploads", "\(uploads)", "--folder", folders[index]]
                    let (sample, _) = try probes.run(arguments, as: BacklogSample.self)
                    sizes[index].samples.append(sample)
                    Console.message(
                        "\(Format.count(rows[index], noun: "row")), round \(round + 1) of \(rounds.rounds): first "
                            + "upload after \(Format.decimal(sample.firstUploadSeconds * 1_000, places: 1)) ms")
                }
            }
            Console.message("watching an idle manager")
            let arguments = ["idle", "--seconds", "\(idle)", "--folder", try temporary.makeFolder("idle")]
            let (sample, _) = try probes.run(arguments, as: IdleSample.self)
            try rounds.show(BacklogReport(sizes: sizes, idle: sample))
            return true
        }
    }

    /// The number of rows with bytes. Each round uploads its own share, the oldest rows that are left.
    private var filesWithBytes: Int { rounds.rounds * uploads + BacklogProbe.reserve }

    private func make(_ rows: Int, in temporary: TemporaryFolder, probes: ProbeRunner) throws -> String {
        let folder = try temporary.makeFolder("\(rows)")
        try probes.run(
            ["backlog-maker", "--rows", "\(rows)", "--with-bytes", "\(filesWithBytes)", "--folder", folder])
        return folder
    }

    private static func sizes(_ text: String) throws -> [Int] {
        let parts = text.split(separator: ",").map(String.init)
        let sizes = parts.compactMap(Int.init)
        guard !sizes.isEmpty, sizes.count == parts.count, Set(sizes).count == sizes.count else {
            throw ValidationError("'\(text)' is not a list of different numbers. Write, for example, 10000,100000.")
        }
        return sizes
    }
}
