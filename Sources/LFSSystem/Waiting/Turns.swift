import Synchronization

/// One turn at a time for each key; who asks for more waits, in order. Different keys do not wait for each other.
///
/// Owner of who waits: one mutex, and the permits of each key.
package final class Turns<Key: Hashable & Sendable>: Sendable {
    private struct Turn {
        let permits = Permits(1)
        var userCount = 0
    }

    private let turns = Mutex<[Key: Turn]>([:])

    package init() {}

    /// How many keys have or wait for a turn.
    package var keyCount: Int { turns.withLock { $0.count } }

    /// How many wait for a turn of the key.
    package func waiterCount(_ key: Key) -> Int { turns.withLock { $0[key]?.permits.waiterCount ?? 0 } }

    /// Runs the body when no other has the turn of the key.
    ///
    /// - Throws: `CancellationError` when the task was cancelled while it waited.
    package func withTurn<Result>(_ key: Key, _ body: () async throws -> Result) async throws -> Result {
        let permits = turns.withLock { turns in
            turns[key, default: Turn()].userCount += 1
            return turns[key, default: Turn()].permits
        }
        defer {
            turns.withLock { turns in
                turns[key]?.userCount -= 1
                if turns[key]?.userCount == 0 { turns[key] = nil }
            }
        }
        return try await permits.withPermit(body)
    }
}
