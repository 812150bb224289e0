import Synchronization

/// What a batch turns out to need while it runs: a data key that is not here, or a commit that is on the device.
///
/// Owner of its state: one mutex.
final class BatchNeeds: Sendable {
    private struct State {
        var isDurable = false
        var lacksKeys = false
        var isLast = false
    }

    private let state = Mutex(State())

    var isDurable: Bool { state.withLock { $0.isDurable } }
    var lacksKeys: Bool { state.withLock { $0.lacksKeys } }

    func noteDurable() { state.withLock { $0.isDurable = true } }

    /// - Returns: whether the batch is to be taken back, and run again with the keys.
    func noteLackingKeys() -> Bool {
        state.withLock { state in
            if state.isLast { return false }
            state.lacksKeys = true
            return true
        }
    }

    /// From now on it makes do with the keys that are there.
    func beginLastRun() { state.withLock { ($0.lacksKeys, $0.isLast) = (false, true) } }

    /// - Throws: ``NoDataKey``, so that the transaction is taken back.
    func requireKeys() throws {
        if lacksKeys { throw NoDataKey() }
    }
}
