import Foundation
import LFSCurl
import LFSHTTP
import Synchronization
import TestSupport
import Testing

/// Cancellation and shutdown, and that nothing is left of them.
@Suite(.timeLimit(.minutes(10))) struct EndingTests {
    /// Nothing else would end it before the test's own limit: the server says nothing, and may do so for an hour.
    @Test func aCancelledTaskEndsItsRequest() async throws {
        let arrived = AsyncStream<Void>.makeStream()
        try await withEngine(.plain { $0.stallTimeout = .seconds(3_600) }) { _, connection in
            arrived.continuation.yield()
            connection.hang()
        } _: { server, engine in
            let task = Task { try await engine.send(HTTPRequest(.get, server)) }
            for await _ in arrived.stream { break }
            task.cancel()
            try await #expect(code { try await task.value } == .cancelled)
        }
    }

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
