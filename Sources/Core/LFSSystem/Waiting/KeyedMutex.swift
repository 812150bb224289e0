import Synchronization

/// A keyed mutex for tasks. One task at a time runs for each key, and others wait in order. Different keys are
/// independent.
///
/// One mutex and the permits of each key own the waiting tasks.
package final class KeyedMutex<Key: Hashable & Sendable>: Sendable {
    private struct Turn {
        let permits = AsyncSemaphore(1)
        var userCount = 0
    }

    private let turns = Mutex<[Key: Turn]>([:])

    package init() {}

    /// The number of keys with a running or waiting task.
    package var keyCount: Int { turns.withLock { $0.count } }

    /// Returns the number of tasks that wait for the key.
    package func waiterCount(_ key: Key) -> Int { turns.withLock { $0[key]?.permits.waiterCount ?? 0 } }

    /// Runs the body while no other task runs for the key.
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
