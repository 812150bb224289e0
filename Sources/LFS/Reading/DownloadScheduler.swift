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

    /// Does a download, and tells when it needs the network no more.
    typealias Work = @Sendable (_ onArrival: @Sendable () -> Void) async throws -> Void
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
        let result = await Result.catching {
            try await work { change { state in state.queue.arrive(key) } }
        }
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
                state.tasks[key] = Task(executorPreference: BlockingPool.downloads) { await self.perform(key, work) }
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
