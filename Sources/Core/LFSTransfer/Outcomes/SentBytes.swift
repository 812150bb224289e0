import Synchronization

/// A counter of the bytes that one attempt uploads, based on its progress reports.
final class SentBytes: Sendable {
    private struct State {
        /// The last reported number, or nil before the first report.
        var last: Int64?
        var sum: Int64 = 0
    }

    private let state: Mutex<State>

    /// - Parameter isResumed: true if the first report includes the bytes of earlier attempts.
    init(isResumed: Bool) {
        state = Mutex(State(last: isResumed ? nil : 0))
    }

    var count: Int64 { state.withLock { $0.sum } }

    /// Receives the number of bytes that the storage has so far. A smaller number than before means that the upload has
    /// started over.
    func report(_ bytes: Int64) {
        state.withLock { state in
            if let last = state.last, bytes > last { state.sum += bytes - last }
            state.last = bytes
        }
    }
}
