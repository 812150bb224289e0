import Synchronization

/// A store for values in memory, for tests and previews. They are lost with the router.
final class MemoryStore: SettingsStore {
    private struct State {
        var values: [String: StoredValue] = [:]
        /// The number of removals of all values when the values were stored.
        var resetCount: Int64?
    }

    private let state = Mutex(State())

    var resetPlace: ResetPlace? { .memory }

    func read(_ name: String) async throws -> StoredValue? { state.withLock { $0.values[name] } }

    /// Removes all values if all values were removed since the last call.
    func follow(_ resetCount: Int64) {
        state.withLock { state in
            // A count that was read before another call recorded a later one is outdated.
            guard resetCount > state.resetCount ?? -1 else { return }
            if state.resetCount != nil { state.values = [:] }
            state.resetCount = resetCount
        }
    }

    func update(
        _ name: String, ring: KeyRing?, _ body: @escaping @Sendable (ValueReader, KeySet) throws -> StoredChange
    ) async throws {
        try state.withLock { state in
            let stored = state.values[name]
            switch try body({ stored }, .none) {
            case .keep: return
            case .put(let value): state.values[name] = value
            case .remove: state.values[name] = nil
            }
        }
    }

    func names() async throws -> [String] { state.withLock { $0.values.keys.sorted() } }
}
