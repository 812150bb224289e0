/// The line that tells how far a run is, at most as wide as the terminal.
package enum ProgressLine {
    /// While files are still being attached: reading and uploading go on beside each other, so each has its figures.
    package static func reading(_ tally: Tally, rate: Double, columns: Int = 80) -> String {
        var parts = [
            "reading \(Format.bytes(tally.readBytes, of: max(tally.foundBytes, tally.readBytes)))",
            "\(Format.bytes(Int64(saturating: rate)))/s",
            "\(Format.count(tally.attached)) attached",
            "\(Format.count(tally.doneFiles)) uploaded",
        ]
        parts += troubles(tally)
        if parts.joined(separator: "  ").count >= columns { parts.remove(at: 1) }
        return String(parts.joined(separator: "  ").prefix(max(columns - 1, 1)))
    }

    /// While rows are on their way.
    package static func syncing(_ rows: Tally.Rows, columns: Int = 80) -> String {
        let text = "syncing  \(Format.count(rows.sent)) sent  \(Format.count(rows.received)) received"
        return String(text.prefix(max(columns - 1, 1)))
    }

    private static func troubles(_ tally: Tally) -> [String] {
        let failed = tally.failed + tally.unreadable
        return (tally.retrying.isEmpty ? [] : ["\(Format.count(tally.retrying.count)) retrying"])
            + (failed > 0 ? ["\(Format.count(failed)) failed"] : [])
    }

    package static func text(_ tally: Tally, rate: Double, timeLeft: Double?, columns: Int = 80) -> String {
        var parts = [
            "\(Format.count(tally.doneFiles))/\(Format.count(tally.totalFiles)) files",
            Format.bytes(tally.doneBytes, of: max(tally.totalBytes, tally.doneBytes)),
            "\(tally.percent) %",
            "\(Format.bytes(Int64(saturating: rate)))/s",
            "ETA \(timeLeft.map(Format.time) ?? "--")",
        ]
        parts += troubles(tally)
        // The least needed goes first when the terminal is narrow.
        for index in [3, 1] where parts.joined(separator: "  ").count >= columns { parts.remove(at: index) }
        return String(parts.joined(separator: "  ").prefix(max(columns - 1, 1)))
    }
}
