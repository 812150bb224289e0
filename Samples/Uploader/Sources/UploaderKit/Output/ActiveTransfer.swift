/// A file in transfer.
package struct ActiveTransfer: Hashable, Sendable {
    /// The name, suitable for display. Empty if it is unknown.
    package var name: String
    /// The time of the first bytes, in seconds since the start of the run.
    package var since: Double
    package var bytes: Int64
    package var totalBytes: Int64

    package init(name: String, since: Double, bytes: Int64 = 0, totalBytes: Int64 = 0) {
        self.name = name
        self.since = since
        self.bytes = bytes
        self.totalBytes = totalBytes
    }

    /// The time in seconds after which the name of a file is shown.
    private static let slowSeconds = 5.0
    /// The minimum width for a name.
    package static let leastColumns = 12

    package var bytesLeft: Int64 { max(totalBytes - bytes, 0) }

    /// Returns the file whose transfer has taken longest, if it has taken long.
    package static func slowest(_ files: [ActiveTransfer], at time: Double) -> ActiveTransfer? {
        files.filter { !$0.name.isEmpty && time - $0.since >= slowSeconds }.min { $0.since < $1.since }
    }

    /// Returns a text such as `holiday.mov 45 %`. The middle of a long name is omitted. Nil if it does not fit.
    func words(columns: Int) -> String? {
        let share = totalBytes > 0 ? Int(saturating: Double(bytes) / Double(totalBytes) * 100) : 0
        let end = " \(min(max(share, 0), 99)) %"
        guard !name.isEmpty, columns >= Self.leastColumns else { return nil }
        let room = columns - end.count
        if name.count <= room { return name + end }
        let tail = (room - 1) / 2
        return name.prefix(room - 1 - tail) + "…" + name.suffix(tail) + end
    }
}
