/// Who a download is for. What a user waits for goes first.
enum DownloadUrgency: Int, Comparable, Sendable {
    case prefetch, reader

    static func < (left: DownloadUrgency, right: DownloadUrgency) -> Bool { left.rawValue < right.rawValue }
}

/// What downloads are for and which of them may run, as a value: no clock, no task, no lock. One owner changes it under
/// one lock.
///
/// The rules: one download for each key, however many ask. As many as ``maxDownloads`` that a reader waits for run at
/// once, whatever else runs. A prefetch begins only while no reader waits and there is room beside all others. The
/// urgency of a download is that of its most urgent asker, so it changes while the download waits or runs.
struct DownloadQueue<Key: Hashable> {
    private enum Phase {
        case waiting, running
        /// Nobody asks for it any more, but it has not ended yet.
        case ending
    }

    private struct Entry {
        var phase = Phase.waiting
        var askers: [Int: DownloadUrgency] = [:]

        var urgency: DownloadUrgency { askers.values.max() ?? .prefetch }
    }

    /// What an asker who leaves, leaves behind.
    enum Leaving {
        case others, nothing
        /// A download that runs for nobody and has to be stopped.
        case running
    }

    let maxDownloads: Int
    private var entries: [Key: Entry] = [:]
    private var lines: [DownloadUrgency: Line<Key>] = [.reader: Line(), .prefetch: Line()]
    private var running: [DownloadUrgency: Int] = [.reader: 0, .prefetch: 0]
    private var waiting: [DownloadUrgency: Int] = [.reader: 0, .prefetch: 0]

    init(maxDownloads: Int) {
        self.maxDownloads = max(maxDownloads, 1)
    }

    var isEmpty: Bool { entries.isEmpty }
    /// Whether somebody waits for a download, running or not.
    var hasReaders: Bool { count(.reader, in: running) + count(.reader, in: waiting) > 0 }
    var runningCount: Int { count(.reader, in: running) + count(.prefetch, in: running) }

    // MARK: Askers

    mutating func ask(_ key: Key, asker: Int, _ urgency: DownloadUrgency) {
        update(key) { entry in
            var joined = entry ?? Entry()
            joined.askers[asker] = urgency
            entry = joined
        }
    }

    mutating func leave(_ key: Key, asker: Int) -> Leaving {
        var leaving = Leaving.others
        update(key) { entry in
            guard var left = entry, left.askers.removeValue(forKey: asker) != nil, left.askers.isEmpty else {
                _ = entry?.askers.removeValue(forKey: asker)
                return
            }
            leaving = left.phase == .waiting ? .nothing : .running
            left.phase = .ending
            entry = leaving == .nothing ? nil : left
        }
        return leaving
    }

    // MARK: Beginning and ending

    /// The next download to begin; nil when none may. It counts as running from now on.
    mutating func begin() -> Key? {
        let urgency: DownloadUrgency
        if count(.reader, in: waiting) > 0 {
            guard count(.reader, in: running) < maxDownloads else { return nil }
            urgency = .reader
        } else {
            guard count(.prefetch, in: waiting) > 0, !hasReaders, runningCount < maxDownloads else { return nil }
            urgency = .prefetch
        }
        while let key = lines[urgency, default: Line()].next() {
            // It may have been dropped, begun or moved to the other line since it was put into this one.
            guard let entry = entries[key], entry.phase == .waiting, entry.urgency == urgency else { continue }
            update(key) { $0?.phase = .running }
            return key
        }
        return nil
    }

    /// A download has ended. Returns whom to tell; nil when it ended because nobody asked for it any more and somebody
    /// asks again by now: then it waits for another turn.
    mutating func end(_ key: Key) -> [Int]? {
        guard let entry = entries[key] else { return [] }
        if entry.phase == .ending, !entry.askers.isEmpty {
            update(key) { $0?.phase = .waiting }
            return nil
        }
        update(key) { $0 = nil }
        return Array(entry.askers.keys)
    }

    // MARK: Counting

    private mutating func update(_ key: Key, _ change: (inout Entry?) -> Void) {
        let before = entries[key]
        var entry = before
        change(&entry)
        entries[key] = entry
        if let before { add(-1, before) }
        guard let entry else { return }
        add(1, entry)
        let isNews = before.map { $0.phase != .waiting || $0.urgency != entry.urgency } ?? true
        if entry.phase == .waiting, isNews { lines[entry.urgency, default: Line()].add(key) }
    }

    private mutating func add(_ count: Int, _ entry: Entry) {
        if entry.phase == .waiting {
            waiting[entry.urgency, default: 0] += count
        } else {
            running[entry.urgency, default: 0] += count
        }
    }

    private func count(_ urgency: DownloadUrgency, in counts: [DownloadUrgency: Int]) -> Int { counts[urgency] ?? 0 }
}

/// First in, first out.
private struct Line<Key> {
    private var keys: [Key] = []
    /// What stands before it is done.
    private var first = 0

    mutating func add(_ key: Key) { keys.append(key) }

    mutating func next() -> Key? {
        guard first < keys.count else { return nil }
        defer {
            first += 1
            if first == keys.count || first > 1_024 {
                keys.removeFirst(first)
                first = 0
            }
        }
        return keys[first]
    }
}
