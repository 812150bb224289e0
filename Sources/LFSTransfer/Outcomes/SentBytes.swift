import Synchronization

/// Counts what one try sends, by what it reports.
final class SentBytes: Sendable {
    private struct State {
        /// What was reported last; nil before the first report.
        var last: Int64?
        var sum: Int64 = 0
    }

    private let state: Mutex<State>

    /// - Parameter isResumed: whether the first report tells what earlier tries have sent.
    init(isResumed: Bool) {
        state = Mutex(State(last: isResumed ? nil : 0))
    }

    var count: Int64 { state.withLock { $0.sum } }

    /// Takes how many bytes of the whole the storage has so far; fewer than before means that it begins again.
    func report(_ bytes: Int64) {
        state.withLock { state in
            if let last = state.last, bytes > last { state.sum += bytes - last }
            state.last = bytes
        }
    }
}
