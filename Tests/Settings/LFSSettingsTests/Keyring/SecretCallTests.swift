#if os(Linux)
import Foundation
import LFSSettings
import TestSupport
import Testing

@testable import LFSSecretService

@Suite("Calls of libsecret", .timeLimit(.minutes(10)))
struct SecretCallTests {
    private static let hasLibrary = dlopen("libsecret-1.so.0", RTLD_LAZY) != nil

    @Test(
        "An unanswered call fails with the error locked exactly at its deadline",
        .enabled(if: hasLibrary, "needs libsecret"))
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

    @Test("Six sessions may be replaced at once, and then one per minute")
    func allowance() {
        let start = ContinuousClock.now
        var allowance = SessionAllowance()
        // The second of each request.
        let seconds =
            [0, 0, 0, 0, 0, 0, 0, 59, 60, 119, 121, 121] + Array(repeating: 10_000, count: 7) + [10_059, 10_060]
        let taken = seconds.map { allowance.take(at: start + .seconds($0)) }
        let expected =
            Array(repeating: true, count: 6) + [false, false, true, false, true, false]
            + Array(repeating: true, count: 6) + [false, false, true]
        #expect(taken == expected)
    }

    @Test("A call ends when its task is cancelled", .enabled(if: hasLibrary, "needs libsecret"))
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
