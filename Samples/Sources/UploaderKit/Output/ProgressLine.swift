/// The line that tells how far a run is, at most as wide as the terminal.
package enum ProgressLine {
    package static func text(_ tally: Tally, rate: Double, timeLeft: Double?, columns: Int = 80) -> String {
        let more = tally.isWalking ? "+" : ""
        var parts = [
            "\(Format.count(tally.doneFiles))/\(Format.count(tally.totalFiles))\(more) files",
            Format.bytes(tally.doneBytes, of: max(tally.totalBytes, tally.doneBytes)),
            "\(tally.percent) %",
            "\(Format.bytes(Int64(rate)))/s",
            "ETA \(timeLeft.map(Format.time) ?? "--")",
        ]
        if !tally.retrying.isEmpty { parts.append("\(Format.count(tally.retrying.count)) retrying") }
        let failed = tally.failed + tally.unreadable
        if failed > 0 { parts.append("\(Format.count(failed)) failed") }
        // The least needed goes first when the terminal is narrow.
        for index in [3, 1] where parts.joined(separator: "  ").count >= columns { parts.remove(at: index) }
        return String(parts.joined(separator: "  ").prefix(max(columns - 1, 1)))
    }
}
