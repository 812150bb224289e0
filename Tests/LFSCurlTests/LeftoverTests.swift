import Foundation
import LFSCurl
import LFSHTTP
import TestSupport
import Testing

// Threads, descriptors and memory are counted in /proc.
#if os(Linux)
/// That nothing is left of an engine. Each test has a process of its own, since it counts all that the process has
/// open.
@Suite(.timeLimit(.minutes(10))) struct LeftoverTests {
    @Test func shutdownEndsWhatIsUnderWayAndGivesEverythingBack() async {
        await #expect(processExitsWith: .success) { try await Leftovers.ofShutdown() }
    }

    @Test func theLastReferenceEndsTheThread() async {
        await #expect(processExitsWith: .success) { try await Leftovers.ofTheLastReference() }
    }

    @Test func requestsThatAreCancelledAtAnyMomentLeaveNothingBehind() async {
        await #expect(processExitsWith: .success) { try await Leftovers.ofCancellations() }
    }
}

/// What the tests do in their processes. A rule that does not hold is thrown, which ends the process with a failure.
private enum Leftovers {
    static func ofShutdown() async throws {
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
        try require("the engine has its thread", threadNames().contains("lfs-http"))
        let hanging = try (0..<8).map { _ in
            let request = try HTTPRequest(.get, server, "/hang")
            return Task { try await engine.send(request) }
        }
        try await yield(while: server.requests.count < 9)
        await engine.shutdown()
        for task in hanging {
            let outcome = try await code { try await task.value }
            try require("what is under way is ended", outcome == .closed)
        }
        let outcome = try await code { try await engine.send(HTTPRequest(.get, server)) }
        try require("nothing is taken any more", outcome == .closed)
        await engine.shutdown()
        server.close()
        try await requireSoon("descriptors are given back") { try openDescriptorCount() <= before }
        try await requireSoon("the thread ends") { try !threadNames().contains("lfs-http") }
    }

    static func ofTheLastReference() async throws {
        let server = try ScriptedServer { _, connection in try connection.reply(200) }
        var engine: CurlTransport? = CurlTransport(.plain())
        _ = try await engine?.send(HTTPRequest(.get, server))
        engine = nil
        server.close()
        try await requireSoon("the thread ends") { try !threadNames().contains("lfs-http") }
    }

    /// The number of requests; more by `LFS_CANCELLATIONS`.
    static let cancellations = ProcessInfo.processInfo.environment["LFS_CANCELLATIONS"].flatMap { Int($0) } ?? 10_000

    static func ofCancellations() async throws {
        try await withEngine { request, connection in
            if request.target == "/hang" { return connection.hang() }
            try connection.readBody(of: request)
            try connection.reply(200, [:], "done")
        } _: { server, engine in
            try await cancelAtRandom(500, seed: 1, server, engine)
            let descriptors = try openDescriptorCount()
            let memory = try memoryInUse()
            let ended = try await cancelAtRandom(cancellations, seed: 2, server, engine)
            print("\(ended.cancelled) cancelled, \(ended.finished) finished")
            // A tenth is answered never, and another tenth is never cancelled.
            try require("some are cancelled in time", ended.cancelled > cancellations / 20)
            try require("some are finished first", ended.finished > cancellations / 20)
            try require("all end", ended.cancelled + ended.finished == cancellations)
            try await requireSoon("descriptors are given back") { try openDescriptorCount() <= descriptors + 2 * 32 }
            // 10,000 handles or bodies that leak would be hundreds of megabytes.
            try require("memory is given back", try memoryInUse() - memory < 32 << 20)
            _ = try await engine.send(HTTPRequest(.get, server))
        }
        try await requireSoon("the thread ends") { try !threadNames().contains("lfs-http") }
    }

    @discardableResult private static func cancelAtRandom(
        _ count: Int, seed: UInt64, _ server: ScriptedServer, _ engine: CurlTransport
    ) async throws -> (cancelled: Int, finished: Int) {
        var random = SeededGenerator(seed: seed)
        let body = SampleBytes.make(10 << 10)
        var (cancelled, finished) = (0, 0)
        for _ in 0..<count / 20 {
            let tasks = try (0..<20).map { number in
                let request = try HTTPRequest(.put, server, number < 2 ? "/hang" : "/x", body: .bytes(body))
                return Task { try await engine.send(request) }
            }
            for (number, task) in tasks.enumerated() {
                for _ in 0..<Int.random(in: 0..<30, using: &random) { await Task.yield() }
                if number < 2 || (number < 18 && Bool.random(using: &random)) { task.cancel() }
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

    /// Waits until it is true; the other side of a connection may need a moment. The limit guards against hangs only:
    /// the time limit of the suite does not end this process.
    private static func requireSoon(_ rule: String, _ condition: () throws -> Bool) async throws {
        let end = ContinuousClock.now.advanced(by: .seconds(600))
        while try !condition() {
            guard ContinuousClock.now < end else { throw NotSo(rule: rule) }
            await Task.yield()
        }
    }

    private static func require(_ rule: String, _ holds: Bool) throws {
        guard holds else { throw NotSo(rule: rule) }
    }

    private struct NotSo: Error { let rule: String }
}
#endif
