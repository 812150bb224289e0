import Foundation
import LFSHTTP
import Synchronization
import TestSupport
import Testing

/// Cancellation and shutdown, and that nothing is left of them. One at a time: they count what the process has open.
@Suite(.serialized, .timeLimit(.minutes(3))) struct EndingTests {
    @Test func aCancelledTaskEndsItsRequestWithinASecond() async throws {
        let arrived = AsyncStream<Void>.makeStream()
        try await withEngine { _, connection in
            arrived.continuation.yield()
            connection.hang()
        } _: { server, engine in
            let task = Task { try await engine.send(HTTPRequest(.get, server)) }
            for await _ in arrived.stream { break }
            let start = ContinuousClock.now
            task.cancel()
            try await #expect(code { try await task.value } == .cancelled)
            #expect(ContinuousClock.now - start < .seconds(1))
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

    @Test func shutdownEndsWhatIsUnderWayAndGivesEverythingBack() async throws {
        // Whatever the process opens once, for good.
        try await withEngine { _, connection in
            try connection.reply(200)
        } _: { server, engine in
            _ = try await engine.send(HTTPRequest(.get, server))
        }
        let before = try openDescriptorCount()
        let server = try ScriptedServer { request, connection in
            if request.target == "/hang" { connection.hang() } else { try connection.reply(200) }
        }
        let engine = CurlTransport(.plain { $0.maxRequestsPerOrigin = 4 })
        for _ in 0..<5 { _ = try await engine.send(HTTPRequest(.get, server)) }
        #expect(try threadNames().contains("lfs-http"))
        let hanging = try (0..<8).map { _ in
            let request = try HTTPRequest(.get, server, "/hang")
            return Task { try await engine.send(request) }
        }
        while server.requests.count < 9 { await Task.yield() }
        await engine.shutdown()
        for task in hanging { try await #expect(code { try await task.value } == .closed) }
        try await #expect(code { try await engine.send(HTTPRequest(.get, server)) } == .closed)
        await engine.shutdown()
        server.close()
        try await expectSoon { try openDescriptorCount() <= before && !threadNames().contains("lfs-http") }
    }

    @Test func theLastReferenceEndsTheThread() async throws {
        let server = try ScriptedServer { _, connection in try connection.reply(200) }
        var engine: CurlTransport? = CurlTransport(.plain())
        _ = try await engine?.send(HTTPRequest(.get, server))
        engine = nil
        server.close()
        try await expectSoon { try !threadNames().contains("lfs-http") }
    }

    /// The number of requests; more by `LFS_CANCELLATIONS`.
    static let cancellations = ProcessInfo.processInfo.environment["LFS_CANCELLATIONS"].flatMap { Int($0) } ?? 10_000

    @Test func requestsThatAreCancelledAtAnyMomentLeaveNothingBehind() async throws {
        try await withEngine { request, connection in
            try connection.readBody(of: request)
            try connection.reply(200, [:], "done")
        } _: { server, engine in
            try await cancelAtRandom(500, seed: 1, server, engine)
            let descriptors = try openDescriptorCount()
            let memory = residentBytes()
            let ended = try await cancelAtRandom(Self.cancellations, seed: 2, server, engine)
            // Both must happen, or it was no test.
            #expect(ended.cancelled > Self.cancellations / 20)
            #expect(ended.finished > Self.cancellations / 20)
            #expect(ended.cancelled + ended.finished == Self.cancellations)
            try await expectSoon { try openDescriptorCount() <= descriptors + 2 * 32 }
            // 10,000 handles or bodies that leak would be hundreds of megabytes.
            #expect(residentBytes() - memory < 32 << 20)
            _ = try await engine.send(HTTPRequest(.get, server))
        }
        try await expectSoon { try !threadNames().contains("lfs-http") }
    }

    @discardableResult private func cancelAtRandom(
        _ count: Int, seed: UInt64, _ server: ScriptedServer, _ engine: CurlTransport
    ) async throws -> (cancelled: Int, finished: Int) {
        var random = SeededGenerator(seed: seed)
        let body = SampleBytes.make(10 << 10)
        var (cancelled, finished) = (0, 0)
        for _ in 0..<count / 20 {
            let tasks = try (0..<20).map { _ in
                let request = try HTTPRequest(.put, server, "/x", body: .bytes(body))
                return Task { try await engine.send(request) }
            }
            for task in tasks {
                for _ in 0..<Int.random(in: 0..<30, using: &random) { await Task.yield() }
                if Bool.random(using: &random) { task.cancel() }
            }
            for task in tasks {
                switch await task.result {
                case .success: finished += 1
                case .failure(let error as HTTPError) where error.code == .cancelled: cancelled += 1
                case .failure(let error): throw error
                }
            }
        }
        return (cancelled, finished)
    }

    private func residentBytes() -> Int {
        let fields = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8))?.split(separator: " ") ?? []
        return (fields.dropFirst().first.flatMap { Int($0) } ?? 0) * 4_096
    }

    /// Waits until it is true; the other side of a connection may need a moment.
    private func expectSoon(_ condition: () throws -> Bool) async throws {
        let end = ContinuousClock.now.advanced(by: .seconds(10))
        while try !condition() {
            guard ContinuousClock.now < end else {
                Issue.record("it did not become true")
                return
            }
            await Task.yield()
        }
    }
}
