import LFSSystem
import Synchronization

/// The calls of a transport, with a deadline.
///
/// The deadline starts over with each state that the transport delivers, so a slow connection does not count as a
/// stalled one. The time that this device takes to process a state does not count.
struct DeadlineTransport: Sendable {
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
            guard try await group.next() == true else { throw Self.timedOut(transport.name, deadline: deadline) }
        }
    }

    /// The count of delivered states.
    ///
    /// One mutex owns it.
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

    private static func timedOut(_ name: String, deadline: Duration) -> SettingsError {
        SettingsError(
            .timedOut,
            message: """
                The transport \(name) has not answered within \(deadline), so this attempt was abandoned. It is \
                retried. CompanionOptions.deadline sets the time.
                """)
    }
}
