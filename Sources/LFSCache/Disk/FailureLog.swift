import Logging
import Synchronization

/// Counts what went wrong on the disk and only made reading slower, and logs it: the first of its kind in a row.
///
/// Owner of the counts: the mutex.
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

    /// - Parameter what: what failed, as a sentence.
    func note(_ what: String, _ error: any Error) {
        let text = "\(error)"
        let isNew = state.withLock { state in
            state.count += 1
            defer { state.last = text }
            return state.last != text
        }
        guard isNew else { return }
        logger.warning("\(what)", metadata: ["error.message": "\(text)"])
    }

    /// An entry did not agree with its checksum.
    func noteDamaged(_ key: String) {
        state.withLock { $0.damaged += 1 }
        logger.warning("an entry of the cache is damaged and was dropped", metadata: ["lfs.key": "\(key)"])
    }
}
