/// The queue of requested downloads, with the rules for those that may run.
///
/// It is a value without a clock, task or lock, so that its rules can be tested alone. `DownloadScheduler` owns it and
/// changes it under its lock. The rules:
///
/// - There is one download per key, for any number of callers.
/// - At most ``maxDownloads`` downloads that readers wait for run at once. Running prefetches do not count.
/// - A prefetch begins only while no reader waits, and while fewer than ``maxDownloads`` downloads run in total.
/// - A download whose bytes have arrived does not count as running. No download begins while ``maxArrived`` of them
///   wait for the disk.
/// - A download is as urgent as the most urgent of its callers. So its urgency can change while it is pending or
///   running.
struct DownloadQueue<Key: Hashable> {
    private enum Phase {
        case waiting, running
        /// All bytes are in memory and wait for the disk.
        case arrived
        /// No caller wants it any more, but it has not ended yet.
        case ending
    }

    private struct Entry {
        var phase = Phase.waiting
        var askers: [Int: DownloadUrgency] = [:]

        var urgency: DownloadUrgency { askers.values.max() ?? .prefetch }
    }

    /// The state of a download after one of its callers has left.
    enum Cancellation {
        /// Other callers still want it.
        case others
        /// The download had not begun. It is removed, because no caller is left.
        case nothing
        /// The download is running without a caller. The scheduler has to stop it.
        case running
    }

    /// The maximum number of arrived downloads, whose bytes are in memory.
    static var maxArrived: Int { 64 }

    let maxDownloads: Int
    private var entries: [Key: Entry] = [:]
    private var queues: [DownloadUrgency: KeyQueue<Key>] = [.reader: KeyQueue(), .prefetch: KeyQueue()]
    private var running: [DownloadUrgency: Int] = [.reader: 0, .prefetch: 0]
    private var waiting: [DownloadUrgency: Int] = [.reader: 0, .prefetch: 0]
    private var arrived: [DownloadUrgency: Int] = [.reader: 0, .prefetch: 0]

    init(maxDownloads: Int) {
        self.maxDownloads = max(maxDownloads, 1)
    }

    var isEmpty: Bool { entries.isEmpty }
    /// True if a reader waits for a download, running or not.
    var hasReaders: Bool {
        count(.reader, in: running) + count(.reader, in: waiting) + count(.reader, in: arrived) > 0
    }
    var runningCount: Int { count(.reader, in: running) + count(.prefetch, in: running) }
    var arrivedCount: Int { count(.reader, in: arrived) + count(.prefetch, in: arrived) }

    // MARK: Callers

    mutating func ask(_ key: Key, asker: Int, urgency: DownloadUrgency) {
        update(key) { entry in
            var joined = entry ?? Entry()
            joined.askers[asker] = urgency
            entry = joined
        }
    }

    mutating func leave(_ key: Key, asker: Int) -> Cancellation {
        var leaving = Cancellation.others
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

    // MARK: Begin and end

    /// Returns the next download to begin. Nil when none may begin. It counts as running from now on.
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
        while let key = queues[urgency, default: KeyQueue()].next() {
            // A key stays in its queue when its download is dropped, begins or changes its urgency. It is skipped here.
            guard let entry = entries[key], entry.phase == .waiting, entry.urgency == urgency else { continue }
            update(key) { $0?.phase = .running }
            return key
        }
        return nil
    }

    /// Records that all bytes of a download have arrived.
    mutating func arrive(_ key: Key) {
        update(key) { if $0?.phase == .running { $0?.phase = .arrived } }
    }

    /// Records that a download has ended, and returns the callers to resume.
    ///
    /// A download without callers is stopped. If it is requested again before it has ended, the result is nil and the
    /// download is pending again.
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
        if let before { add(-1, entry: before) }
        guard let entry else { return }
        add(1, entry: entry)
        let isNews = before.map { $0.phase != .waiting || $0.urgency != entry.urgency } ?? true
        if entry.phase == .waiting, isNews { queues[entry.urgency, default: KeyQueue()].add(key) }
    }

    private mutating func add(_ count: Int, entry: Entry) {
        switch entry.phase {
        case .waiting: waiting[entry.urgency, default: 0] += count
        case .running, .ending: running[entry.urgency, default: 0] += count
        case .arrived: arrived[entry.urgency, default: 0] += count
        }
    }

    private func count(_ urgency: DownloadUrgency, in counts: [DownloadUrgency: Int]) -> Int { counts[urgency] ?? 0 }
}

/// A first-in, first-out queue.
private struct KeyQueue<Key> {
    private var keys: [Key] = []
    /// The index of the first key that is still in the queue. Earlier keys were taken, and are removed later in one
    /// step.
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
