import LFSSystem

/// Names of files that have changed, until they have not changed for a while. A value that is told the time, which
/// begins anywhere and never goes back.
struct SettlingNames: Sendable {
    /// One that has not changed since.
    struct Settled: Hashable, Sendable {
        let name: AssetName
        /// What it looked like when it changed last; nil where nobody has looked.
        let stamp: String?
    }

    private struct Entry {
        let due: Duration
        let stamp: String?
        /// When it changed first, and whether that it still changes was reported.
        let since: Duration
        let isReported: Bool
    }

    /// How long a file may change before it is reported that it waits.
    private static let longestSettling = Duration.seconds(60)

    private let time: Duration
    /// Those that change within so long settle together: thousands at once are then a few batches, and not thousands.
    private let grid: Duration
    private var entries: [AssetName: Entry] = [:]
    /// In the order of their times. A name that has changed again is in a later one as well.
    private var turns: [(due: Duration, names: [AssetName])] = []

    /// - Parameter time: how long nothing may change.
    init(_ time: Duration) {
        self.time = max(time, .milliseconds(1))
        grid = min(self.time, .seconds(1))
    }

    var isEmpty: Bool { entries.isEmpty }
    /// How many names wait.
    var count: Int { entries.count }
    /// When to look; nil when nothing waits.
    var due: Duration? { turns.first?.due }

    /// A name has changed.
    ///
    /// - Returns: whether it is to be reported that it waits: once, when it has been changing for a minute and more.
    @discardableResult
    mutating func note(_ name: AssetName, _ stamp: String?, at now: Duration) -> Bool {
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

    /// Takes out those that have settled.
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
