import LFSStorage
import LFSSystem
import Synchronization

/// A hub that passes events to all listeners, and notifies the calls that wait for an empty queue.
///
/// No method blocks or waits.
final class EventHub: Sendable {
    /// The end of a transfer for its listeners.
    enum Termination: Sendable {
        case complete(byteCount: Int64)
        case failed(LFSError)
    }

    private typealias Progress = AsyncThrowingStream<TransferProgress, any Error>

    private struct Listener {
        /// The file whose download the listener follows, if it follows one.
        var download: FileID?
        /// Returns whether the listener wants more events.
        var receive: @Sendable (LFSEvent) -> Bool
        var end: @Sendable (Termination) -> Void
    }

    private struct State {
        var nextID = 0
        var listeners: [Int: Listener] = [:]
        var waiters: [Int: Signal] = [:]
        var lastProgress: [FileID: ContinuousClock.Instant] = [:]
        /// True if a listener may follow a download. Readers skip the search for listeners otherwise.
        var hasDownloadListeners = false
        var isClosed = false
    }

    /// Smaller files are complete before a progress event could be seen.
    private static let smallestWithProgress: Int64 = 1_024 * 1_024
    private static let progressInterval = Duration.milliseconds(100)

    private let state = Mutex(State())

    func listen(_ policy: AsyncStream<LFSEvent>.Continuation.BufferingPolicy) -> AsyncStream<LFSEvent> {
        let (stream, continuation) = AsyncStream.makeStream(of: LFSEvent.self, bufferingPolicy: policy)
        let id = add(
            Listener {
                continuation.yield($0)
                return true
            } end: { _ in
                continuation.finish()
            })
        continuation.onTermination = { [weak self] _ in self?.remove(id) }
        return stream
    }

    /// Returns the progress of the upload of one file, and a closure that ends it.
    func listen(
        to id: FileID
    ) -> (AsyncThrowingStream<TransferProgress, any Error>, end: @Sendable (Termination) -> Void) {
        let (stream, continuation) = Progress.makeStream(bufferingPolicy: .bufferingNewest(1))
        let end = Self.end(continuation)
        let listener = add(
            Listener(
                receive: { event in
                    if case .progress(id, let progress) = event { continuation.yield(progress) }
                    guard let ending = Termination(ofUpload: id, event) else { return true }
                    end(ending)
                    return false
                }, end: end))
        continuation.onTermination = { [weak self] _ in self?.remove(listener) }
        return (stream, end)
    }

    /// Returns the progress of one file's download until ``endDownload(_:_:)``.
    func listenToDownload(of id: FileID) -> AsyncThrowingStream<TransferProgress, any Error> {
        let (stream, continuation) = Progress.makeStream(bufferingPolicy: .bufferingNewest(1))
        let listener = add(
            Listener(
                download: id,
                receive: { event in
                    if case .downloading(id, let progress) = event { continuation.yield(progress) }
                    return true
                }, end: Self.end(continuation)))
        continuation.onTermination = { [weak self] _ in self?.remove(listener) }
        return stream
    }

    private static func end(_ continuation: Progress.Continuation) -> @Sendable (Termination) -> Void {
        { ending in
            switch ending {
            case .complete(let byteCount):
                continuation.yield(TransferProgress(bytesTransferred: byteCount, totalBytes: byteCount))
                continuation.finish()
            case .failed(let error): continuation.finish(throwing: error)
            }
        }
    }

    /// Ends the streams that follow the download of a file.
    func endDownload(_ id: FileID, ending: Termination) {
        let listeners = state.withLock { state in
            state.lastProgress[id] = nil
            guard state.hasDownloadListeners else { return [Listener]() }
            let ended = state.listeners.filter { $0.value.download == id }
            for key in ended.keys { state.listeners[key] = nil }
            state.hasDownloadListeners = state.listeners.values.contains { $0.download != nil }
            return Array(ended.values)
        }
        for listener in listeners { listener.end(ending) }
    }

    func send(_ event: LFSEvent) {
        for (id, listener) in state.withLock({ $0.listeners }) where !listener.receive(event) { remove(id) }
    }

    /// Reports files whose deletion is complete.
    @Sendable func sendRemoved(_ ids: [FileID]) {
        for id in ids { send(.removed(id)) }
        ringWaiters()
    }

    private func add(_ listener: Listener) -> Int {
        let (id, isClosed) = state.withLock { state in
            state.nextID += 1
            if !state.isClosed {
                state.listeners[state.nextID] = listener
                state.hasDownloadListeners = state.hasDownloadListeners || listener.download != nil
            }
            return (state.nextID, state.isClosed)
        }
        if isClosed { listener.end(Self.stopped) }
        return id
    }

    private func remove(_ id: Int) {
        state.withLock { state in
            guard let removed = state.listeners.removeValue(forKey: id), removed.download != nil else { return }
            state.hasDownloadListeners = state.listeners.values.contains { $0.download != nil }
        }
    }

    /// True if a listener may follow a download.
    var hasDownloadListener: Bool { state.withLock { $0.hasDownloadListeners } }

    func sendProgress(_ id: FileID, progress: TransferProgress) {
        if isDue(id, progress: progress) { send(.progress(id, progress)) }
    }

    func sendDownloading(_ id: FileID, progress: TransferProgress) {
        if isDue(id, progress: progress) { send(.downloading(id, progress)) }
    }

    private func isDue(_ id: FileID, progress: TransferProgress) -> Bool {
        guard progress.totalBytes >= Self.smallestWithProgress else { return false }
        let now = ContinuousClock.now
        return state.withLock { state in
            if let last = state.lastProgress[id], now - last < Self.progressInterval { return false }
            state.lastProgress[id] = now
            return true
        }
    }

    func endProgress(_ id: FileID) {
        state.withLock { _ = $0.lastProgress.removeValue(forKey: id) }
    }

    /// True if a call is waiting for its signal.
    var hasSleepingWaiter: Bool { state.withLock { $0.waiters.values.contains(where: \.isAwaited) } }

    /// Returns a signal that is notified whenever the queue may be empty. The caller removes it with
    /// ``removeWaiter(_:)``.
    func addWaiter() -> (id: Int, signal: Signal) {
        state.withLock { state in
            state.nextID += 1
            let signal = Signal()
            state.waiters[state.nextID] = signal
            return (state.nextID, signal)
        }
    }

    func removeWaiter(_ id: Int) { state.withLock { _ = $0.waiters.removeValue(forKey: id) } }

    func ringWaiters() {
        for signal in state.withLock({ Array($0.waiters.values) }) { signal.notify() }
    }

    /// Ends every stream. Later listeners end at once.
    func close() {
        let listeners = state.withLock { state in
            state.isClosed = true
            state.hasDownloadListeners = false
            defer { state.listeners = [:] }
            return Array(state.listeners.values)
        }
        for listener in listeners { listener.end(Self.stopped) }
        ringWaiters()
    }

    private static let stopped = Termination.failed(.stopped("follow transfers"))
}

extension EventHub.Termination {
    /// Creates the end of a file's upload. Nil for an event that does not end it.
    fileprivate init?(ofUpload id: FileID, _ event: LFSEvent) {
        switch event {
        case .uploaded(id, _, let byteCount): self = .complete(byteCount: byteCount)
        case .failed(id, let failure, nextAttempt: nil): self = .failed(LFSError(failure))
        case .cancelled(id): self = .failed(.uploadCancelled(id))
        case .removed(id): self = .failed(LFSError(.deleted, message: "The file was deleted.", fileID: id))
        default: return nil
        }
    }
}

extension LFSError {
    /// Creates the error of an upload that was given up.
    init(_ failure: UploadFailure) {
        self.init(
            .storage, message: failure.reason, fileID: failure.fileID,
            cause: StorageError(failure.code, message: failure.reason))
    }

    static func uploadCancelled(_ id: FileID) -> LFSError {
        LFSError(.cancelled, message: "The upload was cancelled.", fileID: id)
    }
}
