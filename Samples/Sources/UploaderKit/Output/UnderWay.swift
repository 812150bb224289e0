/// A file whose bytes are on their way.
package struct UnderWay: Hashable, Sendable {
    /// Its name, fit to be shown; empty when it is not known.
    package var name: String
    /// When its first bytes went, in seconds since the run began.
    package var since: Double
    package var bytes: Int64
    package var totalBytes: Int64

    package init(name: String, since: Double, bytes: Int64 = 0, totalBytes: Int64 = 0) {
        (self.name, self.since, self.bytes, self.totalBytes) = (name, since, bytes, totalBytes)
    }

    /// What takes so long is worth its name.
    private static let slowSeconds = 5.0
    /// With fewer columns no name can be told.
    package static let leastColumns = 12

    package var bytesLeft: Int64 { max(totalBytes - bytes, 0) }

    /// The one that has been under way longest, if that is long.
    package static func slowest(_ files: [UnderWay], at time: Double) -> UnderWay? {
        files.filter { !$0.name.isEmpty && time - $0.since >= slowSeconds }.min { $0.since < $1.since }
    }

    /// `holiday.mov 45 %`, with the middle of a long name left out; nil when there is no room for it.
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
