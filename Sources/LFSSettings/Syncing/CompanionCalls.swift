import LFSSystem
import Synchronization

/// Asks a transport, and gives it up when it says nothing for too long.
///
/// Each state that is handed out begins the time anew, so that a slow line is no line that hangs; what is done with a
/// state here does not count.
struct CompanionCalls: Sendable {
    let transport: any CompanionTransport
    let deadline: Duration
    let clock: any Clock<Duration>

    func publish(_ state: CompanionState) async throws {
        let transport = transport
        try await run { _ in try await transport.publish(state) }
    }

    func states(
        for query: CompanionQuery, _ take: @escaping @Sendable (CompanionReading) async throws -> Void
    ) async throws {
        let transport = transport
        try await run { progress in
            try await transport.states(for: query) { reading in
                progress.beginTaking()
                defer { progress.endTaking() }
                try await take(reading)
            }
        }
    }

    private func run(_ call: @escaping @Sendable (Progress) async throws -> Void) async throws {
        let (deadline, clock, progress) = (deadline, clock, Progress())
        try await withThrowingTaskGroup(of: Bool.self) { group in
            defer { group.cancelAll() }
            group.addTask {
                try await call(progress)
                return true
            }
            group.addTask {
                var seen = 0
                repeat { try await clock.sleep(for: deadline) } while progress.hasMoved(since: &seen)
                return false
            }
            guard try await group.next() == true else { throw Self.timedOut(transport.name, deadline) }
        }
    }

    /// How often something was handed out.
    ///
    /// Owner of it: one mutex.
    private final class Progress: Sendable {
        private let state = Mutex((count: 0, isTaking: false))

        func beginTaking() { state.withLock { $0 = ($0.count + 1, true) } }
        func endTaking() { state.withLock { $0 = ($0.count + 1, false) } }

        func hasMoved(since seen: inout Int) -> Bool {
            let (count, isTaking) = state.withLock { $0 }
            defer { seen = count }
            return isTaking || count != seen
        }
    }

    private static func timedOut(_ name: String, _ deadline: Duration) -> SettingsError {
        SettingsError(
            .timedOut,
            """
            The transport \(name) has not answered within \(deadline), and was given up. It is tried again; \
            CompanionOptions.deadline says how long is waited.
            """)
    }
}
