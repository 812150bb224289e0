/// The progress line, at most as wide as the terminal.
package enum ProgressLine {
    /// Returns the line for a run that still attaches files. Reading and uploading run concurrently, so each has its
    /// own figures.
    ///
    /// - Parameter timeLeft: the estimated remaining time in seconds. Nil without a basis for an estimate.
    package static func reading(_ tally: Tally, rate: Double, timeLeft: Double? = nil, columns: Int = 80) -> String {
        // The count of a forecast omits files that were read before it. The total must not decrease.
        let whole = max(tally.expectedBytes ?? 0, tally.foundBytes, tally.readBytes)
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

    /// Returns the line for a run that exchanges rows.
    package static func syncing(_ rows: Tally.Rows, columns: Int = 80) -> String {
        let text = "syncing  \(Format.count(rows.sent)) sent  \(Format.count(rows.received)) received"
        return String(text.prefix(max(columns - 1, 1)))
    }

    private static func troubles(_ tally: Tally) -> [String] {
        let failed = tally.failed + tally.unreadable
        return (tally.retrying.isEmpty ? [] : ["\(Format.count(tally.retrying.count)) retrying"])
            + (failed > 0 ? ["\(Format.count(failed)) failed"] : [])
    }

    /// Returns the line for uploads and downloads.
    ///
    /// - Parameters:
    ///   - isRough: true if the remaining time is only a guess.
    ///   - slowest: the file whose transfer has taken long.
    package static func text(
        _ tally: Tally, rate: Double, timeLeft: Double?, isRough: Bool = false, slowest: ActiveTransfer? = nil,
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
        // On a narrow terminal, the least important part is omitted first.
        let least = slowest == nil ? 0 : ActiveTransfer.leastColumns + 2
        for index in [3, 1] where parts.joined(separator: "  ").count + (index == 3 ? least : 0) >= columns {
            parts.remove(at: index)
        }
        return fitted(parts, file: slowest, columns: columns)
    }

    /// Returns the line for a run that was asked to end and completes its current transfers.
    package static func stopping(_ underWay: [ActiveTransfer], columns: Int = 80) -> String {
        let left = underWay.reduce(Int64(0)) { $0.addingSaturated($1.bytesLeft) }
        if underWay.isEmpty { return fitted(["stopping", "Ctrl-C: at once"], file: nil, columns: columns) }
        let parts = [
            "stopping", "\(Format.count(underWay.count, noun: "file")), \(Format.bytes(left)) to go", "Ctrl-C: at once",
        ]
        return fitted(parts, file: underWay.min { $0.since < $1.since }, columns: columns)
    }

    /// Returns the parts, followed by a file if there is space for its name.
    private static func fitted(_ parts: [String], file: ActiveTransfer?, columns: Int) -> String {
        let line = parts.joined(separator: "  ")
        guard let words = file?.words(columns: columns - 1 - line.count - 2) else {
            return String(line.prefix(max(columns - 1, 1)))
        }
        return line + "  " + words
    }
}
