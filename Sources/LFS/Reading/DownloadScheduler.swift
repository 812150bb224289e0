import Foundation
import LFSSystem
import Synchronization

/// Why a download is wanted: a reader waits for it, or it is fetched ahead. Readers go first.
enum DownloadUrgency: Int, Comparable, Sendable {
    case prefetch, reader

    static func < (left: DownloadUrgency, right: DownloadUrgency) -> Bool { left.rawValue < right.rawValue }
}

/// Runs downloads: one for each key however many ask, a bounded number at once, the urgent ones first.
///
/// A download belongs to all who ask for it, so it is the child of none of them: it has a task of its own, which ends
/// with the last asker, and which ``stop()`` waits for.
final class DownloadScheduler: Sendable {
    enum Key: Hashable, Sendable {
        case file(FileID)
        /// A part of a file: for one reader only.
        case range(UUID)
    }

    typealias Work = @Sendable () async throws -> Void
    private typealias Asker = Waiter<Result<Void, any Error>>

    private struct State {
        var queue: DownloadQueue<Key>
        var work: [Key: Work] = [:]
        var tasks: [Key: Task<Void, Never>] = [:]
        var askers: [Int: (key: Key, waiter: Asker)] = [:]
        var lastAsker = 0
        var isStopped = false
    }

    private let state: Mutex<State>
    private let onReaders: @Sendable (Bool) -> Void

    /// - Parameter onReaders: hears with true that somebody waits for a download, and with false that nobody does any
    ///   more. Calls may come out of order; there are as many of the one as of the other in the end.
    init(maxDownloads: Int, onReaders: @escaping @Sendable (_ areThere: Bool) -> Void) {
        state = Mutex(State(queue: DownloadQueue(maxDownloads: maxDownloads)))
        self.onReaders = onReaders
    }

    /// Whether somebody waits for a download.
    var hasReaders: Bool { state.withLock { $0.queue.hasReaders } }

    // MARK: Asking

    /// Returns when the download has ended, this one or that of an earlier asker with the same key.
    ///
    /// - Throws: its error; `CancellationError` when the asking task was cancelled; ``LFSError/Code/notRunning`` after
    ///   a stop.
    func run(_ key: Key, _ urgency: DownloadUrgency, _ work: @escaping Work) async throws {
        let waiter = Asker()
        let asker = try change { state -> Result<Int, any Error> in
            if state.isStopped { return .failure(Self.stopped) }
            if Task.isCancelled { return .failure(CancellationError()) }
            state.lastAsker += 1
            state.askers[state.lastAsker] = (key, waiter)
            if state.work[key] == nil { state.work[key] = work }
            state.queue.ask(key, asker: state.lastAsker, urgency)
            return .success(state.lastAsker)
        }.get()
        try await waiter.wait { leave(asker) }.get()
    }

    private func leave(_ asker: Int) {
        let (waiter, idle) = change { state -> (Asker?, Task<Void, Never>?) in
            guard let (key, waiter) = state.askers.removeValue(forKey: asker) else { return (nil, nil) }
            switch state.queue.leave(key, asker: asker) {
            case .others: return (waiter, nil)
            case .nothing: state.work[key] = nil
            case .running: return (waiter, state.tasks[key])
            }
            return (waiter, nil)
        }
        idle?.cancel()
        waiter?.resume(returning: .failure(CancellationError()))
    }

    // MARK: Running

    private func perform(_ key: Key, _ work: Work) async {
        let result = await Result.catching(work)
        let askers = change { state -> [Asker] in
            state.tasks[key] = nil
            guard let askers = state.queue.end(key) else { return [] }
            state.work[key] = nil
            return askers.compactMap { state.askers.removeValue(forKey: $0)?.waiter }
        }
        for asker in askers { asker.resume(returning: result) }
    }

    /// Changes the state, begins what may begin then, and tells when the first reader came or the last one went.
    private func change<Result: Sendable>(_ body: @Sendable (inout State) -> Result) -> Result {
        let (result, before, after) = state.withLock { state in
            let before = state.queue.hasReaders
            let result = body(&state)
            while !state.isStopped, let key = state.queue.begin() {
                guard let work = state.work[key] else { continue }
                state.tasks[key] = Task { await self.perform(key, work) }
            }
            return (result, before, state.queue.hasReaders)
        }
        if before != after { onReaders(after) }
        return result
    }

    // MARK: Stopping

    /// Refuses further downloads, cancels those there are and tells their askers. Does not wait for the end.
    func halt() {
        let (tasks, askers) = change { state in
            state.isStopped = true
            for (asker, entry) in state.askers { _ = state.queue.leave(entry.key, asker: asker) }
            defer { state.askers = [:] }
            return (Array(state.tasks.values), state.askers.values.map(\.waiter))
        }
        for task in tasks { task.cancel() }
        for asker in askers { asker.resume(returning: .failure(Self.stopped)) }
    }

    /// As ``halt()``, and returns when nothing runs any more.
    func stop() async {
        halt()
        for task in state.withLock({ Array($0.tasks.values) }) { await task.value }
    }

    private static let stopped = LFSError(
        .notRunning, "The LFSManager was stopped. Open another one to fetch files from the storage.")
}

/// Who asks for which download, and which downloads may run.
///
/// It is a value without clock, task or lock, so that its rules can be tested alone. `DownloadScheduler` owns it, and
/// changes it under its lock. The rules:
///
/// - There is one download for each key, however many ask for it.
/// - Downloads that a reader waits for: up to ``maxDownloads`` of them run at once. Prefetches that run do not count.
/// - A prefetch begins only while no reader waits, and while fewer than ``maxDownloads`` run in all.
/// - A download is as urgent as the most urgent of those who ask for it. So its urgency can change while it waits or
///   runs.
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

    /// What remains of a download when somebody no longer asks for it.
    enum Leaving {
        /// Others still ask for it.
        case others
        /// Nothing: nobody asks for it, and it had not begun.
        case nothing
        /// A download that runs although nobody asks for it any more: the caller has to stop it.
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
            // A key stays in its line when its download is dropped, begins or changes its urgency, and is skipped here.
            guard let entry = entries[key], entry.phase == .waiting, entry.urgency == urgency else { continue }
            update(key) { $0?.phase = .running }
            return key
        }
        return nil
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
