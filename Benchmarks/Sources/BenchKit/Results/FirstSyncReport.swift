/// How rows came into an empty database, once.
package struct FirstSyncSample: Codable, Equatable, Sendable {
    package var rows: Int
    package var seconds: Double
    /// Of the device, or of the process that copies.
    package var cpuSeconds: Double
    package var serverCPUSeconds: Double
    /// How far the peak of the device's memory was above what it had before.
    package var extraBytes: Int64
    /// The same of the server.
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

/// Everything that `lfs-bench sync first` and `sync growth` measured. Its JSON is the document of `--json`: fields may
/// be added.
package struct FirstSyncReport: Codable, Equatable, Sendable {
    package struct Size: Codable, Equatable, Sendable {
        package var rows: Int
        /// One for each round; so have the rivals, if they were measured.
        package var syncs: [FirstSyncSample] = []
        /// Rows read by GRDB and bound to an `INSERT`.
        package var scans: [FirstSyncSample] = []
        /// `INSERT … SELECT`.
        package var selects: [FirstSyncSample] = []

        package init(rows: Int) { self.rows = rows }

        /// The median of the rounds' ratios: how fast sync was, with the rival as 1.
        package func ratio(to rival: [FirstSyncSample]) -> Double? {
            zip(syncs, rival).map { $1.seconds / $0.seconds }.median
        }
    }

    package var sizes: [Size]
    /// Of the time of a first sync: 1 is a cost for each row that does not depend on their number.
    package private(set) var wallExponent: Double?
    /// Of the processor time of device and server together.
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
    /// As people read it.
    package var description: String {
        let heads = ["", "seconds", "rows/s", "CPU s", "server CPU s", "MiB", "server MiB", "sync/this"]
        let lines = sizes.flatMap { size in
            [("sync", size.syncs), ("scan and insert", size.scans), ("insert select", size.selects)]
                .filter { !$0.1.isEmpty }.map { cells(size, $0.0, $0.1) }
        }
        let title = "First sync of a device, \(Format.count(sizes.first?.syncs.count ?? 0, "round"))"
        return ([title, ""] + TextTable.lines([heads] + lines) + [""] + notes).joined(separator: "\n")
    }

    private func cells(_ size: Size, _ name: String, _ samples: [FirstSyncSample]) -> [String] {
        func median(_ places: Int, _ value: (FirstSyncSample) -> Double) -> String {
            samples.map(value).median.map { Format.decimal($0, places) } ?? "–"
        }
        func most(_ value: (FirstSyncSample) -> Int64) -> String {
            samples.map(value).max().map { Format.decimal(Double(max($0, 0)) / 1_048_576, 1) } ?? "–"
        }
        let isSync = name == "sync"
        return [
            "\(Format.count(size.rows)) rows, \(name)", median(3, \.seconds),
            samples.map { Double($0.rows) / $0.seconds }.median.map { Format.count(Int($0)) } ?? "–",
            median(3, \.cpuSeconds), isSync ? median(3, \.serverCPUSeconds) : "–", most(\.extraBytes),
            isSync ? most(\.serverExtraBytes) : "–",
            isSync ? "–" : size.ratio(to: samples).map { Format.decimal($0, 2) } ?? "–",
        ]
    }

    private var notes: [String] {
        var notes = [
            "Medians of the rounds; of the memory the largest, above what the process had before.",
            "sync/this is the median of each round's ratio of rows a second.",
        ]
        if let wallExponent, let cpuExponent {
            notes.append(
                "The cost of a first sync grows with the rows to the power of \(Format.decimal(wallExponent, 3)) in "
                    + "wall time, \(Format.decimal(cpuExponent, 3)) in CPU time.")
        }
        return notes
    }
}
