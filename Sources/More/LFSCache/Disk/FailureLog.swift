import Logging
import Synchronization

/// A counter and log of disk failures that only make reads slower. It logs only the first of consecutive equal
/// failures.
///
/// The mutex owns the counts.
final class FailureLog: Sendable {
    private struct State {
        var count = 0
        var damaged = 0
        var last: String?
    }

    private let state = Mutex(State())
    private let logger: Logger

    init(_ logger: Logger) { self.logger = logger }

    var counts: (failures: Int, damaged: Int, last: String?) { state.withLock { ($0.count, $0.damaged, $0.last) } }

    /// - Parameter what: a description of the failed operation for the log.
    func note(_ what: String, error: any Error) {
        let text = "\(error)"
        let isNew = state.withLock { state in
            state.count += 1
            defer { state.last = text }
            return state.last != text
        }
        guard isNew else { return }
        logger.warning("\(what)", metadata: ["error.message": "\(text)"])
    }

    /// Records that an entry did not match its checksum.
    func noteDamaged(_ key: String) {
        state.withLock { $0.damaged += 1 }
        logger.warning("an entry of the cache is damaged and was dropped", metadata: ["lfs.key": "\(key)"])
    }
}
