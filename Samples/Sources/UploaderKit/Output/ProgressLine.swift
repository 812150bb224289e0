/// The line that tells how far a run is, at most as wide as the terminal.
package enum ProgressLine {
    /// While files are still being attached: reading and uploading go on beside each other, so each has its figures.
    ///
    /// - Parameter timeLeft: in seconds, as far as it can be guessed; nil until there is something to go by.
    package static func reading(_ tally: Tally, rate: Double, timeLeft: Double? = nil, columns: Int = 80) -> String {
        let whole = max(tally.expectedBytes ?? tally.foundBytes, tally.readBytes)
        var parts = [
            "reading \(Format.bytes(tally.readBytes, of: whole))",
            "\(Format.bytes(Int64(saturating: rate)))/s",
            "\(Format.count(tally.attached)) attached",
            "\(Format.count(tally.doneFiles)) uploaded",
        ]
        if let timeLeft { parts.insert("ETA ~\(Format.time(timeLeft))", at: 2) }
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

    /// - Parameters:
    ///   - isRough: whether the time left is no more than a guess.
    ///   - slowest: the file that has been under way for long.
    package static func text(
        _ tally: Tally, rate: Double, timeLeft: Double?, isRough: Bool = false, slowest: UnderWay? = nil,
        columns: Int = 80
    ) -> String {
        var parts = [
            "\(Format.count(tally.doneFiles))/\(Format.count(tally.totalFiles)) files",
            Format.bytes(tally.doneBytes, of: max(tally.totalBytes, tally.doneBytes)),
            "\(tally.percent) %",
            "\(Format.bytes(Int64(saturating: rate)))/s",
            "ETA \(isRough && timeLeft != nil ? "~" : "")\(timeLeft.map(Format.time) ?? "--")",
        ]
        parts += troubles(tally)
        // The least needed goes first when the terminal is narrow.
        let least = slowest == nil ? 0 : UnderWay.leastColumns + 2
        for index in [3, 1] where parts.joined(separator: "  ").count + (index == 3 ? least : 0) >= columns {
            parts.remove(at: index)
        }
        return fitted(parts, slowest, columns)
    }

    /// While a run that was asked to end finishes what is under way.
    package static func stopping(_ underWay: [UnderWay], columns: Int = 80) -> String {
        let left = underWay.reduce(Int64(0)) { $0.addingSaturated($1.bytesLeft) }
        if underWay.isEmpty { return fitted(["stopping", "Ctrl-C: at once"], nil, columns) }
        let parts = [
            "stopping", "\(Format.count(underWay.count, "file")), \(Format.bytes(left)) to go", "Ctrl-C: at once",
        ]
        return fitted(parts, underWay.min { $0.since < $1.since }, columns)
    }

    /// The parts, and a file where there is room for its name.
    private static func fitted(_ parts: [String], _ file: UnderWay?, _ columns: Int) -> String {
        let line = parts.joined(separator: "  ")
        guard let words = file?.words(columns: columns - 1 - line.count - 2) else {
            return String(line.prefix(max(columns - 1, 1)))
        }
        return line + "  " + words
    }
}
