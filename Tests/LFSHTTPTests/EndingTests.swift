import Foundation
import LFSHTTP
import Synchronization
import TestSupport
import Testing

/// Cancellation and shutdown, and that nothing is left of them.
@Suite(.timeLimit(.minutes(3))) struct EndingTests {
    /// In a process of its own, where no other test's work stands between the cancellation and its effect.
    @Test func aCancelledTaskEndsItsRequestWithinASecond() async {
        await #expect(processExitsWith: .success) { try await Self.cancelInTime() }
    }

    private static func cancelInTime() async throws {
        let arrived = AsyncStream<Void>.makeStream()
        try await withEngine { _, connection in
            arrived.continuation.yield()
            connection.hang()
        } _: { server, engine in
            let task = Task { try await engine.send(HTTPRequest(.get, server)) }
            for await _ in arrived.stream { break }
            let start = ContinuousClock.now
            task.cancel()
            let outcome = try await code { try await task.value }
            let time = ContinuousClock.now - start
            guard outcome == .cancelled, time < .seconds(1) else { throw TooLate(time: time) }
        }
    }

    private struct TooLate: Error { let time: Duration }

    @Test func aTaskThatIsCancelledAlreadySendsNothing() async throws {
        try await withEngine { _, connection in
            try connection.reply(200)
        } _: { server, engine in
            let gate = AsyncStream<Void>.makeStream()
            let task = Task {
                for await _ in gate.stream { break }
                return try await engine.send(HTTPRequest(.get, server))
            }
            task.cancel()
            gate.continuation.finish()
            try await #expect(code { try await task.value } == .cancelled)
            #expect(server.connectionCount == 0)
        }
    }

    @Test func oneThatWaitsForItsTurnCanBeCancelled() async throws {
        let arrived = AsyncStream<Void>.makeStream()
        try await withEngine(.plain { $0.maxRequestsPerOrigin = 1 }) { _, connection in
            arrived.continuation.yield()
            connection.hang()
        } _: { server, engine in
            let first = Task { try await engine.send(HTTPRequest(.get, server)) }
            for await _ in arrived.stream { break }
            let second = Task { try await engine.send(HTTPRequest(.get, server)) }
            second.cancel()
            try await #expect(code { try await second.value } == .cancelled)
            first.cancel()
            _ = await first.result
        }
    }
}
