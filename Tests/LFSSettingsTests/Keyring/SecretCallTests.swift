#if os(Linux)
import LFSSettings
import TestSupport
import Testing

@testable import LFSSecretService

@Suite("Calls of libsecret", .timeLimit(.minutes(1)))
struct SecretCallTests {
    @Test("A call that nobody answers is locked once its time is over on the clock, and not before")
    func deadline() async throws {
        let (clock, begun) = (ManualClock(), EventLog<Int>())
        let task = Task {
            try await SecretCall.run(deadline: .seconds(30), clock: clock) { call in
                try await call.perform { _, _, _ in
                    begun.add(1)
                } _: { _, _ in
                }
            }
        }
        await begun.wait { $0.count == 1 }
        await clock.waitForSleepers { $0 == [.seconds(30)] }
        clock.advance(by: .seconds(29))
        #expect(clock.remaining == [.seconds(1)])
        clock.advance(by: .seconds(1))
        await expectFailure(.locked) { try await task.value }
    }

    @Test("A call ends with its task")
    func cancellation() async throws {
        let (clock, begun) = (ManualClock(), EventLog<Int>())
        let task = Task {
            try await SecretCall.run(deadline: .seconds(30), clock: clock) { call in
                try await call.perform { _, _, _ in
                    begun.add(1)
                } _: { _, _ in
                }
            }
        }
        await begun.wait { $0.count == 1 }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
    }
}
#endif
