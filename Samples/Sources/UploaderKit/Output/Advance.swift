import LFS
import LFSStorage
import Synchronization

/// Counts what a run gets done: bytes that are new, and files that are through or given up. Bytes that are sent once
/// more do not count, or a file that fails again and again would look like progress.
final class Advance: Sendable {
    private struct State {
        var count: UInt64 = 0
        /// How far each file has come at its best try.
        var furthest: [FileData.ID: Int64] = [:]
        var hasSucceeded = false
        var refusal: StorageOutage?
    }

    private let state = Mutex(State())
    /// Rings when the storage has refused.
    let refusals = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    /// No storage takes so much of a file before it has looked at the keys: larger ones go in parts.
    private static let acceptedByteCount: Int64 = 32 << 20

    var count: UInt64 { state.withLock { $0.count } }

    /// Why the storage takes nothing, if waiting does not mend that: it is not set up, or refuses the keys, and has
    /// done so from the start. Keys that worked have expired, and somebody renews them.
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
            // It ends with something that the storage has taken.
            if outage == nil { state.hasSucceeded = true }
            state.refusal = outage.flatMap { $0.code.isMendedByWaiting ? nil : $0 }
            return state.refusal != nil
        }
        if isRefused { refusals.continuation.yield() }
    }
}

extension StorageError.Code {
    /// Whether an outage with this code may end without anybody doing anything.
    var isMendedByWaiting: Bool { ![.unauthorized, .forbidden, .misconfigured].contains(self) }
}
