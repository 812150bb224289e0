/// Who asks for which download, and which downloads may run.
///
/// It is a value without clock, task or lock, so that its rules can be tested alone. `DownloadScheduler` owns it, and
/// changes it under its lock. The rules:
///
/// - There is one download for each key, however many ask for it.
/// - Downloads that a reader waits for: up to ``maxDownloads`` of them run at once. Prefetches that run do not count.
/// - A prefetch begins only while no reader waits, and while fewer than ``maxDownloads`` run in all.
/// - A download whose bytes have come does not count as running, and none begins while ``maxArrived`` of them wait for
///   the disk.
/// - A download is as urgent as the most urgent of those who ask for it. So its urgency can change while it waits or
///   runs.
struct DownloadQueue<Key: Hashable> {
    private enum Phase {
        case waiting, running
        /// All bytes are in memory, and wait for the disk.
        case arrived
        /// Nobody asks for it any more, but it has not ended yet.
        case ending
    }

    private struct Entry {
        var phase = Phase.waiting
        var askers: [Int: DownloadUrgency] = [:]

        var urgency: DownloadUrgency { askers.values.max() ?? .prefetch }
    }

    /// What remains of a download when somebody no longer asks for it.
    enum Leaving {
        /// Others still ask for it.
        case others
        /// Nothing: nobody asks for it, and it had not begun.
        case nothing
        /// A download that runs although nobody asks for it any more: the caller has to stop it.
        case running
    }

    /// Their bytes are in memory.
    static var maxArrived: Int { 64 }

    let maxDownloads: Int
    private var entries: [Key: Entry] = [:]
    private var lines: [DownloadUrgency: Line<Key>] = [.reader: Line(), .prefetch: Line()]
    private var running: [DownloadUrgency: Int] = [.reader: 0, .prefetch: 0]
    private var waiting: [DownloadUrgency: Int] = [.reader: 0, .prefetch: 0]
    private var arrived: [DownloadUrgency: Int] = [.reader: 0, .prefetch: 0]

    init(maxDownloads: Int) {
        self.maxDownloads = max(maxDownloads, 1)
    }

    var isEmpty: Bool { entries.isEmpty }
    /// Whether somebody waits for a download, running or not.
    var hasReaders: Bool {
        count(.reader, in: running) + count(.reader, in: waiting) + count(.reader, in: arrived) > 0
    }
    var runningCount: Int { count(.reader, in: running) + count(.prefetch, in: running) }
    var arrivedCount: Int { count(.reader, in: arrived) + count(.prefetch, in: arrived) }

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
        guard arrivedCount < Self.maxArrived else { return nil }
        let urgency: DownloadUrgency
        if count(.reader, in: waiting) > 0 {
            guard count(.reader, in: running) < maxDownloads else { return nil }
            urgency = .reader
        } else {
            guard count(.prefetch, in: waiting) > 0, !hasReaders, runningCount < maxDownloads else { return nil }
            urgency = .prefetch
        }
        while let key = lines[urgency, default: Line()].next() {
            // A key stays in its line when its download is dropped, begins or changes its urgency, and is skipped here.
            guard let entry = entries[key], entry.phase == .waiting, entry.urgency == urgency else { continue }
            update(key) { $0?.phase = .running }
            return key
        }
        return nil
    }

    /// Notes that all bytes of a download are here.
    mutating func arrive(_ key: Key) {
        update(key) { if $0?.phase == .running { $0?.phase = .arrived } }
    }

    /// Notes that a download has ended, and returns whom to tell.
    ///
    /// A download that nobody asked for any more is stopped, and somebody may ask for it again before it has ended.
    /// Then the result is nil, and the download waits for its next turn.
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
        switch entry.phase {
        case .waiting: waiting[entry.urgency, default: 0] += count
        case .running, .ending: running[entry.urgency, default: 0] += count
        case .arrived: arrived[entry.urgency, default: 0] += count
        }
    }

    private func count(_ urgency: DownloadUrgency, in counts: [DownloadUrgency: Int]) -> Int { counts[urgency] ?? 0 }
}

/// First in, first out.
private struct Line<Key> {
    private var keys: [Key] = []
    /// The index of the first key that still waits; those before it were taken and are removed later, many at once.
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
