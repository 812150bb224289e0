/// A measurement of filling an empty database with rows.
package struct FirstSyncSample: Codable, Equatable, Sendable {
    package var rows: Int
    package var seconds: Double
    /// The CPU time of the device or of the copying process.
    package var cpuSeconds: Double
    package var serverCPUSeconds: Double
    /// The increase of the device's memory peak.
    package var extraBytes: Int64
    /// The increase of the server's memory peak.
    package var serverExtraBytes: Int64

    package init(
        rows: Int, seconds: Double, cpuSeconds: Double, serverCPUSeconds: Double, extraBytes: Int64,
        serverExtraBytes: Int64
    ) {
        self.rows = rows
        self.seconds = seconds
        self.cpuSeconds = cpuSeconds
        self.serverCPUSeconds = serverCPUSeconds
        self.extraBytes = extraBytes
        self.serverExtraBytes = serverExtraBytes
    }
}

/// The results of `lfs-bench sync first` and `sync growth`. Its JSON is the document of `--json`, to which fields may
/// be added.
package struct FirstSyncReport: Codable, Equatable, Sendable {
    package struct Size: Codable, Equatable, Sendable {
        package var rows: Int
        /// The syncs, one per round. The rivals have as many samples if they were measured.
        package var syncs: [FirstSyncSample] = []
        /// Rows that GRDB reads and binds to an `INSERT`.
        package var scans: [FirstSyncSample] = []
        /// Rows of an `INSERT … SELECT`.
        package var selects: [FirstSyncSample] = []

        package init(rows: Int) { self.rows = rows }

        /// Returns the median of the rounds' speed ratios, where the rival has the speed 1.
        package func ratio(to rival: [FirstSyncSample]) -> Double? {
            zip(syncs, rival).map { $1.seconds / $0.seconds }.median
        }
    }

    package var sizes: [Size]
    /// The growth exponent of the time of a first sync. The value 1 is a cost per row that does not depend on the
    /// number of rows.
    package private(set) var wallExponent: Double?
    /// The growth exponent of the CPU time of device and server together.
    package private(set) var cpuExponent: Double?

    package init(sizes: [Size]) {
        self.sizes = sizes
        func exponent(_ cost: (FirstSyncSample) -> Double) -> Double? {
            GrowthExponent.of(
                sizes.compactMap { size in size.syncs.map(cost).median.map { (Double(size.rows), $0) } })
        }
        wallExponent = exponent(\.seconds)
        cpuExponent = exponent { $0.cpuSeconds + $0.serverCPUSeconds }
    }
}

extension FirstSyncReport: CustomStringConvertible {
    /// The report as a table.
    package var description: String {
        let heads = ["", "seconds", "rows/s", "CPU s", "server CPU s", "MiB", "server MiB", "sync/this"]
        let lines = sizes.flatMap { size in
            [("sync", size.syncs), ("scan and insert", size.scans), ("insert select", size.selects)]
                .filter { !$0.1.isEmpty }.map { cells(size, name: $0.0, samples: $0.1) }
        }
        let title = "First sync of a device, \(Format.count(sizes.first?.syncs.count ?? 0, noun: "round"))"
        return ([title, ""] + TextTable.lines([heads] + lines) + [""] + notes).joined(separator: "\n")
    }

    private func cells(_ size: Size, name: String, samples: [FirstSyncSample]) -> [String] {
        func median(_ places: Int, _ value: (FirstSyncSample) -> Double) -> String {
            samples.map(value).median.map { Format.decimal($0, places: places) } ?? "–"
        }
        func most(_ value: (FirstSyncSample) -> Int64) -> String {
            samples.map(value).max().map { Format.decimal(Double(max($0, 0)) / 1_048_576, places: 1) } ?? "–"
        }
        let isSync = name == "sync"
        return [
            "\(Format.count(size.rows)) rows, \(name)", median(3, \.seconds),
            samples.map { Double($0.rows) / $0.seconds }.median.map { Format.count(Int($0)) } ?? "–",
            median(3, \.cpuSeconds), isSync ? median(3, \.serverCPUSeconds) : "–", most(\.extraBytes),
            isSync ? most(\.serverExtraBytes) : "–",
            isSync ? "–" : size.ratio(to: samples).map { Format.decimal($0, places: 2) } ?? "–",
        ]
    }

    private var notes: [String] {
        var notes = [
            "Medians of the rounds. For the memory, the largest growth of the process.",
            "sync/this is the median of each round's ratio of rows a second.",
        ]
        if let wallExponent, let cpuExponent {
            notes.append(
                "The cost of a first sync grows with the rows to the power of "
                    + "\(Format.decimal(wallExponent, places: 3)) in wall time, "
                    + "\(Format.decimal(cpuExponent, places: 3)) in CPU time."
            )
        }
        return notes
    }
}
