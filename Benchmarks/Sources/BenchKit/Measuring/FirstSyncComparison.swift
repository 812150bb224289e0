/// A comparison of a first sync with SQLite alone, which fill empty databases with the same rows in turn.
struct FirstSyncComparison {
    var server: String
    /// The URL of the server's database, or nil for an SQLite file.
    var database: String?
    var rounds: Int
    var hasRivals: Bool
    var temporary: TemporaryFolder
    var probes: ProbeRunner

    private enum Part: CaseIterable {
        case sync, scan, select
    }

    /// - Throws: `BenchError` if a run fails, `Interrupted`.
    func run(_ rows: [Int]) throws -> [FirstSyncReport.Size] {
        var sizes = rows.map { FirstSyncReport.Size(rows: $0) }
        for index in sizes.indices {
            Console.message("making \(Format.count(rows[index], noun: "row"))")
            let source = try temporary.makeFolder("\(rows[index])")
            try probes.run([
                "sync-maker", "--rows", "\(rows[index])", "--sessions", "\(rounds)", "--folder", source,
            ])
            if let database {
                try probes.run([
                    "sync-loader", "--server", server, "--database", database, "--rows", "\(rows[index])", "--sessions",
                    "\(rounds)", "--folder", source,
                ])
            }
            for round in 0..<rounds {
                for part in Schedule.order(of: hasRivals ? Part.allCases : [.sync], round: round) {
                    let sample = try run(part, round: round, source: source)
                    switch part {
                    case .sync: sizes[index].syncs.append(sample)
                    case .scan: sizes[index].scans.append(sample)
                    case .select: sizes[index].selects.append(sample)
                    }
                    guard sample.rows == rows[index] else {
                        throw BenchError("\(sample.rows) of \(rows[index]) rows have arrived.")
                    }
                    Console.message(
                        "\(Format.count(rows[index], noun: "row")), \(part), round \(round + 1) of \(rounds): "
                            + "\(Format.decimal(sample.seconds, places: 3)) s")
                }
            }
        }
        return sizes
    }

    private func run(_ part: Part, round: Int, source: String) throws -> FirstSyncSample {
        let scratch = try temporary.makeFolder("scratch")
        try temporary.empty(scratch)
        // Cached writes of the previous run must not be written during this one.
        Disk.settle()
        let places = ["--source", source, "--folder", scratch]
        let arguments =
            switch part {
            case .sync:
                ["sync-first", "--server", server, "--session", "\(round)"] + places
                    + (database.map { ["--database", $0] } ?? [])
            case .scan: ["row-copy", "--scan"] + places
            case .select: ["row-copy", "--select"] + places
            }
        return try probes.run(arguments, as: FirstSyncSample.self).value
    }
}
