import Foundation
import LFSSystem
import Synchronization

/// The urgency of a download. Downloads for readers begin before prefetches.
enum DownloadUrgency: Int, Comparable, Sendable {
    case prefetch, reader

    static func < (left: DownloadUrgency, right: DownloadUrgency) -> Bool { left.rawValue < right.rawValue }
}

/// A scheduler of downloads. It runs one download per key for any number of callers, a limited number at once, the
/// urgent ones first.
///
/// A download belongs to all its callers, so it is a child task of none of them. It has its own task, which is
/// cancelled with its last caller, and which ``stop()`` waits for.
final class DownloadScheduler: Sendable {
    enum Key: Hashable, Sendable {
        case file(FileID)
        /// A part of a file, for one reader only.
        case range(UUID)
    }

    /// Runs a download, and calls `onDownload` when it no longer needs the network.
    typealias Operation = @Sendable (_ onDownload: @Sendable () -> Void) async throws -> Void
    private typealias Asker = Waiter<Result<Void, any Error>>

    private struct State {
        var queue: DownloadQueue<Key>
        var work: [Key: Operation] = [:]
        var tasks: [Key: Task<Void, Never>] = [:]
        var askers: [Int: (key: Key, waiter: Asker)] = [:]
        var lastAsker = 0
        /// The reason why further downloads are refused, after a stop or during a suspension.
        var closing: ActiveCalls.Closing?
        /// Opens when downloads are refused and none is running.
        var idle = Latch()
    }

    private let state: Mutex<State>
    private let onReaders: @Sendable (Bool) -> Void

    /// - Parameter onReaders: called with true when the first reader waits for a download, and with false when the last
    ///   one is done. Calls may be out of order, but in the end both values occur equally often.
    init(maxDownloads: Int, onReaders: @escaping @Sendable (_ hasChanges: Bool) -> Void) {
        state = Mutex(State(queue: DownloadQueue(maxDownloads: maxDownloads)))
        self.onReaders = onReaders
    }

    /// True if a reader waits for a download.
    var hasReaders: Bool { state.withLock { $0.queue.hasReaders } }

    // MARK: Requests

    /// Returns when the download with the key has ended, whether this call or an earlier one has begun it.
    ///
    /// - Throws: the error of the download, `CancellationError` when the calling task was cancelled,
    ///   ``LFSError/Code/notRunning`` after a stop, and ``LFSError/Code/suspended`` during a suspension.
    func run(_ key: Key, urgency: DownloadUrgency, work: @escaping Operation) async throws {
        let waiter = Asker()
        let asker = try change { state -> Result<Int, any Error> in
            if let closing = state.closing { return .failure(Self.refusal(for: closing)) }
            if Task.isCancelled { return .failure(CancellationError()) }
            state.lastAsker += 1
            state.askers[state.lastAsker] = (key, waiter)
            if state.work[key] == nil { state.work[key] = work }
            state.queue.ask(key, asker: state.lastAsker, urgency: urgency)
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

    private func perform(_ key: Key, work: Operation) async {
        let result = await Result.catching {
            try await work { change { state in state.queue.arrive(key) } }
        }
        let askers = change { state -> [Asker] in
            state.tasks[key] = nil
            if state.closing != nil, state.tasks.isEmpty { state.idle.open() }
            guard let askers = state.queue.end(key) else { return [] }
            state.work[key] = nil
            return askers.compactMap { state.askers.removeValue(forKey: $0)?.waiter }
        }
        for asker in askers { asker.resume(returning: result) }
    }

    /// Changes the state, begins the downloads that may begin then, and reports when the first reader arrives or the
    /// last one leaves.
    private func change<Result: Sendable>(_ body: @Sendable (inout State) -> Result) -> Result {
        let (result, before, after) = state.withLock { state in
            let before = state.queue.hasReaders
            let result = body(&state)
            while state.closing == nil, let key = state.queue.begin() {
                guard let work = state.work[key] else { continue }
                state.tasks[key] = Task(executorPreference: BlockingPool.downloads) {
                    await self.perform(key, work: work)
                }
            }
            return (result, before, state.queue.hasReaders)
        }
        if before != after { onReaders(after) }
        return result
    }

    // MARK: Stopping

    /// Refuses further downloads, and lets the running ones continue.
    func refuse(for closing: ActiveCalls.Closing) {
        change { state in
            // A stop is final.
            if state.closing != .stop { state.closing = closing }
            if state.tasks.isEmpty { state.idle.open() }
        }
    }

    /// Returns when downloads are refused and none is running, or when the task is cancelled.
    func waitForEnd() async { await state.withLock { $0.idle }.wait() }

    /// Accepts downloads again after a suspension.
    func reopen() {
        change { state in
            guard state.closing == .suspension else { return }
            state.closing = nil
            state.idle = Latch()
        }
    }

    /// Refuses further downloads, cancels the existing ones and resumes their callers. It does not wait for their end.
    func halt(for closing: ActiveCalls.Closing) {
        refuse(for: closing)
        let (tasks, askers) = change { state in
            for (asker, entry) in state.askers { _ = state.queue.leave(entry.key, asker: asker) }
            defer { state.askers = [:] }
            return (Array(state.tasks.values), state.askers.values.map(\.waiter))
        }
        for task in tasks { task.cancel() }
        for asker in askers { asker.resume(returning: .failure(Self.refusal(for: closing))) }
    }

    /// Does the same as ``halt(for:)``, and returns when no download is running.
    func stop(for closing: ActiveCalls.Closing) async {
        halt(for: closing)
        for task in state.withLock({ Array($0.tasks.values) }) { await task.value }
    }

    private static func refusal(for closing: ActiveCalls.Closing) -> LFSError {
        closing.refusal(of: "download files from the storage")
    }
}
