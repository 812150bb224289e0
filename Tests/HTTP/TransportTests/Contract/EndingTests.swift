import Foundation
import LFSHTTP
import Synchronization
import TestSupport
import Testing

/// Tests of cancellation and shutdown, and that they leave nothing behind.
@Suite(.timeLimit(.minutes(10))) struct EndingTests {
    /// The server never replies and the stall timeout is an hour, so that only the cancellation ends the request in
    /// time.
    @Test(arguments: Engine.all) func aCancelledTaskEndsItsRequest(_ kind: Engine) async throws {
        let arrived = AsyncStream<Void>.makeStream()
        try await withEngine(kind, options: .plain { $0.stallTimeout = .seconds(3_600) }) { _, connection in
            arrived.continuation.yield()
            connection.hang()
        } _: { server, engine in
            let task = Task { try await engine.send(HTTPRequest(.get, server: server)) }
            for await _ in arrived.stream { break }
            task.cancel()
            try await #expect(code { try await task.value } == .cancelled)
        }
    }

    @Test(arguments: Engine.all) func aTaskThatIsCancelledAlreadySendsNothing(_ kind: Engine) async throws {
        try await withEngine(kind) { _, connection in
            try connection.reply(200)
        } _: { server, engine in
            let gate = AsyncStream<Void>.makeStream()
            let task = Task {
                for await _ in gate.stream { break }
                return try await engine.send(HTTPRequest(.get, server: server))
            }
            task.cancel()
            gate.continuation.finish()
            try await #expect(code { try await task.value } == .cancelled)
            #expect(server.connectionCount == 0)
        }
    }

    @Test(arguments: Engine.all) func oneThatWaitsForItsTurnCanBeCancelled(_ kind: Engine) async throws {
        let arrived = AsyncStream<Void>.makeStream()
        try await withEngine(kind, options: .plain { $0.maxRequestsPerOrigin = 1 }) { _, connection in
            arrived.continuation.yield()
            connection.hang()
        } _: { server, engine in
            let first = Task { try await engine.send(HTTPRequest(.get, server: server)) }
            for await _ in arrived.stream { break }
            let second = Task { try await engine.send(HTTPRequest(.get, server: server)) }
            second.cancel()
            try await #expect(code { try await second.value } == .cancelled)
            first.cancel()
            _ = await first.result
        }
    }

    @Test("A shutdown ends the running request, and later requests fail", arguments: Engine.all)
    func shutdown(_ kind: Engine) async throws {
        let arrived = AsyncStream<Void>.makeStream()
        try await withEngine(kind, options: .plain { $0.stallTimeout = .seconds(3_600) }) { _, connection in
            arrived.continuation.yield()
            connection.hang()
        } _: { server, engine in
            let task = Task { try await engine.send(HTTPRequest(.get, server: server)) }
            for await _ in arrived.stream { break }
            await engine.shutdown()
            try await #expect(code { try await task.value } == .closed)
            try await #expect(code { try await engine.send(HTTPRequest(.get, server: server)) } == .closed)
        }
    }
}
