/// A measurement of a manager that starts with many pending uploads.
package struct BacklogSample: Codable, Equatable, Sendable {
    package var uploads: Int
    /// The time to open the manager.
    package var openSeconds: Double
    /// The time from the start to the end of the first upload.
    package var firstUploadSeconds: Double
    /// The time from the start until the rows of all measured uploads are updated.
    package var uploadSeconds: Double
    /// The CPU time of the whole process during that time.
    package var cpuSeconds: Double
    /// The increase of the memory peak since before the manager was opened.
    package var extraBytes: Int64

    package init(
        uploads: Int, openSeconds: Double, firstUploadSeconds: Double, uploadSeconds: Double, cpuSeconds: Double,
        extraBytes: Int64
    ) {
        self.uploads = uploads
        self.openSeconds = openSeconds
        self.firstUploadSeconds = firstUploadSeconds
        self.uploadSeconds = uploadSeconds
        self.cpuSeconds = cpuSeconds
        self.extraBytes = extraBytes
    }
}

/// A measurement of an idle manager.
package struct IdleSample: Codable, Equatable, Sendable {
    package var seconds: Double
    package var cpuSeconds: Double
    /// The number of executions of each statement, on all connections.
    package var statements: [String: Int]

    package init(seconds: Double, cpuSeconds: Double, statements: [String: Int]) {
        self.seconds = seconds
        self.cpuSeconds = cpuSeconds
        self.statements = statements
    }
}

/// The results of `lfs-bench backlog`. Its JSON is the document of `--json`, to which fields may be added.
package struct BacklogReport: Codable, Equatable, Sendable {
    package struct Size: Codable, Equatable, Sendable {
        package var rows: Int
        /// The samples, one per round.
        package var samples: [BacklogSample]

        package init(rows: Int, samples: [BacklogSample]) {
            self.rows = rows
            self.samples = samples
        }

        /// Returns the median of the rounds.
        package func median(_ value: (BacklogSample) -> Double) -> Double? { samples.map(value).median }
    }

    package var sizes: [Size]
    package var idle: IdleSample
    /// The growth exponent of the CPU time of all rows, extrapolated from the first uploads. The value 1 is a cost per
    /// row that does not depend on the number of rows.
    package private(set) var cpuExponent: Double?
    /// The same exponent for the wall time.
    package private(set) var wallExponent: Double?

    package init(sizes: [Size], idle: IdleSample) {
        self.sizes = sizes
        self.idle = idle
        cpuExponent = Self.exponent(sizes) { $0.cpuSeconds / Double($0.uploads) }
        wallExponent = Self.exponent(sizes) { $0.uploadSeconds / Double($0.uploads) }
    }

    private static func exponent(_ sizes: [Size], _ costOfOne: (BacklogSample) -> Double) -> Double? {
        GrowthExponent.of(
            sizes.compactMap { size in
                size.median(costOfOne).map { (size: Double(size.rows), cost: Double(size.rows) * $0) }
            })
    }
}

extension BacklogReport: CustomStringConvertible {
    /// The report as a table.
    package var description: String {
        let samples = sizes.first?.samples ?? []
        let title =
            "The first \(Format.count(samples.first?.uploads ?? 0, noun: "upload")) of a backlog, "
            + "\(Format.count(samples.count, noun: "round"))"
        let heads = ["rows", "open ms", "first upload ms", "ms an upload", "CPU ms an upload", "extra MiB"]
        return ([title, ""] + TextTable.lines([heads] + sizes.map(cells)) + [""] + notes).joined(separator: "\n")
    }

    private func cells(_ size: Size) -> [String] {
        func milliseconds(_ places: Int, _ value: (BacklogSample) -> Double) -> String {
            size.median { value($0) * 1_000 }.map { Format.decimal($0, places: places) } ?? "–"
        }
        return [
            Format.count(size.rows), milliseconds(1, \.openSeconds), milliseconds(1, \.firstUploadSeconds),
            milliseconds(3) { $0.uploadSeconds / Double($0.uploads) },
            milliseconds(3) { $0.cpuSeconds / Double($0.uploads) },
            size.samples.map { Double($0.extraBytes) / 1_048_576 }.max().map { Format.decimal($0, places: 1) } ?? "–",
        ]
    }

    private var notes: [String] {
        var notes = ["Medians of the rounds. For the memory, the largest value."]
        if let wallExponent, let cpuExponent {
            notes.append(
                "The cost of all rows grows with their number to the power of "
                    + "\(Format.decimal(wallExponent, places: 3)) in wall time, "
                    + "\(Format.decimal(cpuExponent, places: 3)) in CPU time."
            )
        }
        let cpu = Format.decimal(idle.cpuSeconds / idle.seconds * 1_000, places: 2)
        notes.append(
            "An idle manager, watched for \(Format.decimal(idle.seconds, places: 1)) s: \(cpu) CPU ms a second.")
        notes += idle.statements.sorted { $0.value > $1.value }.map { sql, count in
            "  \(Format.decimal(Double(count) / idle.seconds, places: 2)) times a second: \(sql)"
        }
        return notes
    }
}
