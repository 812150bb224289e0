import LFS
import LFSStorage
import Synchronization

/// A counter of a run's progress: new bytes, and files that are completed or given up. Bytes that are sent again do not
/// count, because a file that fails repeatedly would look like progress.
final class ProgressMeter: Sendable {
    private struct State {
        var count: UInt64 = 0
        /// The number of bytes of each file in its best attempt.
        var furthest: [FileData.ID: Int64] = [:]
        var hasSucceeded = false
        var refusal: StorageOutage?
    }

    private let state = Mutex(State())
    /// Signals an outage that does not end by waiting.
    let refusals = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    /// A storage checks the keys before it accepts this number of bytes of one file. Larger files are uploaded in
    /// parts.
    private static let acceptedByteCount: Int64 = 32 << 20

    var count: UInt64 { state.withLock { $0.count } }

    /// The reason why the storage accepts nothing, if waiting does not help: it is misconfigured or has rejected the
    /// keys from the start. If the keys worked before, they have expired and will probably be renewed, so this is nil.
    var refusal: StorageOutage? { state.withLock { $0.hasSucceeded ? nil : $0.refusal } }

    func note() { state.withLock { $0.count &+= 1 } }

    func handle(_ event: LFSEvent) {
        switch event {
        case .progress(let id, let progress), .downloading(let id, let progress):
            state.withLock { state in
                guard progress.bytesTransferred > state.furthest[id] ?? 0 else { return }
                state.furthest[id] = progress.bytesTransferred
                state.count &+= 1
                if progress.bytesTransferred > Self.acceptedByteCount { state.hasSucceeded = true }
            }
        case .uploaded(let id, _, _), .downloaded(let id, _), .removed(let id): ended(id, hasSucceeded: true)
        case .failed(let id, _, nextAttempt: nil): ended(id, hasSucceeded: false)
        case .outage(let outage): note(outage)
        default: break
        }
    }

    private func ended(_ id: FileData.ID, hasSucceeded: Bool) {
        state.withLock { state in
            state.furthest[id] = nil
            state.count &+= 1
            if hasSucceeded { state.hasSucceeded = true }
        }
    }

    private func note(_ outage: StorageOutage?) {
        let isRefused = state.withLock { state in
            // The outage ends with something that the storage has accepted.
            if outage == nil { state.hasSucceeded = true }
            state.refusal = outage.flatMap { $0.code.isMendedByWaiting ? nil : $0 }
            return state.refusal != nil
        }
        if isRefused { refusals.continuation.yield() }
    }
}

extension StorageError.Code {
    /// True if an outage with this code may end without any action.
    var isMendedByWaiting: Bool { ![.unauthorized, .forbidden, .misconfigured].contains(self) }
}
