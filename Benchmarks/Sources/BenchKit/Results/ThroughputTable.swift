/// A report as a text table.
package struct ThroughputTable: CustomStringConvertible {
    private let report: ThroughputReport
    private let title: String

    /// - Parameter title: the description of the measurement, or nil for copies of the report's workload.
    package init(_ report: ThroughputReport, title: String? = nil) {
        self.report = report
        self.title = title ?? Self.title(of: report)
    }

    package var description: String { ([title, ""] + table + notes).joined(separator: "\n") }

    private static func title(of report: ThroughputReport) -> String {
        let workload = report.workload
        return
            "\(Format.count(workload.files, noun: "file")) of \(Format.bytes(workload.bytesPerFile)) to "
            + "\(report.endpoint), \(Format.count(report.connections, noun: "connection")), "
            + "\(Format.count(report.rounds, noun: "round"))"
    }

    /// Indicates that the throughput is shown in files. Large files are shown in bytes.
    private var countsFiles: Bool { report.workload.bytesPerFile < 1 << 20 }

    private var table: [String] {
        let heads = [
            "tool", "wall s (min–max)", "CPU s", "peak MiB", countsFiles ? "files/s" : "MiB/s", "lfs/tool wall", "CPU",
        ]
        return TextTable.lines([heads] + report.summaries.map(cells))
    }

    private func cells(_ summary: ThroughputReport.Summary) -> [String] {
        let ratio = report.ratios.first { $0.tool == summary.tool }
        let (minimum, maximum) = (summary.wallSecondsMinimum, summary.wallSecondsMaximum)
        return [
            summary.tool.rawValue,
            "\(Format.decimal(summary.wallSeconds, places: 2)) "
                + "(\(Format.decimal(minimum, places: 2))–\(Format.decimal(maximum, places: 2)))",
            Format.decimal(summary.cpuSeconds, places: 2),
            Format.decimal(Double(summary.peakBytes) / 1_048_576, places: 1),
            Format.count(
                Int((countsFiles ? summary.filesPerSecond : summary.bytesPerSecond / 1_048_576).rounded())),
            ratio.map { Format.decimal($0.wall, places: 2) } ?? "–",
            ratio.map { Format.decimal($0.cpu, places: 2) } ?? "–",
        ]
    }

    private var notes: [String] {
        var notes = [
            "", "Wall and CPU are medians, peak is the largest. lfs/tool is the median of each round's ratio.",
        ]
        let least = Format.decimal(Double(report.leastPeakBytes) / 1_048_576, places: 1)
        notes.append(
            "A peak of \(least) MiB or less is not told apart: so much had this program when it started the tool.")
        notes += report.missing.map { "Without \($0.tool.rawValue): \($0.reason)." }
        notes += report.failures.map { "\($0.tool.rawValue) failed in round \($0.round): \($0.reason)" }
        return notes
    }
}
