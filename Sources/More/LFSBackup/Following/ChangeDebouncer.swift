import LFSSystem

/// The names of changed files until they have settled. A value type whose caller passes the time. The time may start at
/// any value but never goes back.
struct ChangeDebouncer: Sendable {
    /// A name that has not changed for the settling time.
    struct Settled: Hashable, Sendable {
        let name: AssetName
        /// The stamp at the last change. Nil if it was not read.
        let stamp: String?
    }

    private struct Entry {
        let due: Duration
        let stamp: String?
        /// The time of the first change, and whether the file was reported as still changing.
        let since: Duration
        let isReported: Bool
    }

    /// The time after which a file that keeps changing is reported.
    private static let longestSettling = Duration.seconds(60)

    private let time: Duration
    /// Changes within this interval settle together, so that thousands of files form a few batches.
    private let grid: Duration
    private var entries: [AssetName: Entry] = [:]
    /// The names by due time, in ascending order. A name that changed again is also in a later entry.
    private var turns: [(due: Duration, names: [AssetName])] = []

    /// - Parameter time: the settling time.
    init(_ time: Duration) {
        self.time = max(time, .milliseconds(1))
        grid = min(self.time, .seconds(1))
    }

    var isEmpty: Bool { entries.isEmpty }
    /// The number of names that have not settled.
    var count: Int { entries.count }
    /// The time of the next check. Nil without names.
    var due: Duration? { turns.first?.due }

    /// Records a change of a name.
    ///
    /// - Returns: true if the file should be reported as still changing. This happens once, after a minute or more.
    @discardableResult
    mutating func note(_ name: AssetName, stamp: String?, at now: Duration) -> Bool {
        let turn = Int(saturating: ((now + time) / grid).rounded(.up))
        let due = max(grid * turn, turns.last?.due ?? .zero)
        let old = entries[name]
        let since = old?.since ?? now
        let isOverdue = now - since >= max(Self.longestSettling, time * 2)
        let isNews = isOverdue && old?.isReported != true
        if let old, old.due == due, old.stamp == stamp, !isNews { return false }
        entries[name] = Entry(due: due, stamp: stamp, since: since, isReported: isOverdue)
        if old?.due == due { return isNews }
        if turns.last?.due == due { turns[turns.count - 1].names.append(name) } else { turns.append((due, [name])) }
        return isNews
    }

    /// Removes and returns the names that have settled.
    mutating func take(at now: Duration) -> [Settled] {
        var settled: [Settled] = []
        let past = turns.prefix { $0.due <= now }
        turns.removeFirst(past.count)
        for turn in past {
            for name in turn.names where entries[name]?.due == turn.due {
                settled.append(Settled(name: name, stamp: entries.removeValue(forKey: name)?.stamp))
            }
        }
        return settled
    }
}
