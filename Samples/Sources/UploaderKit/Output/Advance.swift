import LFS
import Synchronization

/// Counts what a run gets done: bytes that are new, and files that are through or given up. Bytes that are sent once
/// more do not count, or a file that fails again and again would look like progress.
final class Advance: Sendable {
    private struct State {
        var count: UInt64 = 0
        /// How far each file has come at its best try.
        var furthest: [FileData.ID: Int64] = [:]
    }

    private let state = Mutex(State())

    var count: UInt64 { state.withLock { $0.count } }

    func note() { state.withLock { $0.count &+= 1 } }

    func handle(_ event: LFSEvent) {
        switch event {
        case .progress(let id, let progress), .downloading(let id, let progress):
            state.withLock { state in
                guard progress.bytesTransferred > state.furthest[id] ?? 0 else { return }
                state.furthest[id] = progress.bytesTransferred
                state.count &+= 1
            }
        case .uploaded(let id, _, _), .failed(let id, _, nextAttempt: nil), .downloaded(let id, _), .removed(let id):
            state.withLock { state in
                state.furthest[id] = nil
                state.count &+= 1
            }
        default: break
        }
    }
}
