import Synchronization
import TestSupport
import Testing

@testable import LFSSystem

@Suite("Turns", .timeLimit(.minutes(10)))
struct KeyedMutexTests {
    @Test("Turns run one at a time for each key, in order, and unused keys are removed")
    func oneAtATime() async throws {
        let (turns, log, gate) = (KeyedMutex<Int>(), EventLog<String>(), Latch())
        let first = Task {
            try await turns.withTurn(1) {
                log.add("first begins")
                await gate.wait()
                log.add("first ends")
            }
        }
        try await yield(while: log.events.isEmpty)
        let second = Task { try await turns.withTurn(1) { log.add("second") } }
        // Another key does not wait.
        try await turns.withTurn(2) { log.add("other") }
        #expect(log.events == ["first begins", "other"])
        gate.open()
        _ = try await (first.value, second.value)
        #expect(log.events == ["first begins", "other", "first ends", "second"])
        #expect(turns.keyCount == 0)
    }

    @Test("A cancelled task leaves the line")
    func cancelled() async throws {
        let (turns, gate, begun) = (KeyedMutex<Int>(), Latch(), Latch())
        let first = Task {
            try await turns.withTurn(1) {
                begun.open()
                await gate.wait()
            }
        }
        await begun.wait()
        let second = Task { try await turns.withTurn(1) {} }
        second.cancel()
        await #expect(throws: CancellationError.self) { try await second.value }
        #expect(turns.keyCount == 1)
        gate.open()
        try await first.value
        #expect(turns.keyCount == 0)
    }
}
