import Foundation
import LFSCurl
import LFSHTTP
import TestSupport
import Testing

// Threads, descriptors and memory are counted in /proc.
#if os(Linux)
/// Tests that an engine leaves nothing behind. Each test has its own process, because it counts everything that the
/// process has open.
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

/// The bodies of the tests in their processes. A violated rule is thrown, which ends the process with a failure.
private enum Leftovers {
    static func ofShutdown() async throws {
        // The first engine opens what the process keeps open permanently.
        try await withEngine(.curl) { _, connection in
            try connection.reply(200)
        } _: { server, engine in
            _ = try await engine.send(HTTPRequest(.get, server: server))
        }
        let before = try openDescriptorCount()
        let server = try ScriptedServer { request, connection in
            if request.target == "/hang" { connection.hang() } else { try connection.reply(200) }
        }
        let engine = CurlTransport(.plain { $0.maxRequestsPerOrigin = 4 })
        for _ in 0..<5 { _ = try await engine.send(HTTPRequest(.get, server: server)) }
        try require("the engine has its thread", holds: threadNames().contains("lfs-http"))
        let hanging = try (0..<8).map { _ in
            let request = try HTTPRequest(.get, server: server, target: "/hang")
            return Task { try await engine.send(request) }
        }
        try await yield(while: server.requests.count < 9)
        await engine.shutdown()
        for task in hanging {
            let outcome = try await code { try await task.value }
            try require("requests under way are ended", holds: outcome == .closed)
        }
        let outcome = try await code { try await engine.send(HTTPRequest(.get, server: server)) }
        try require("no request is accepted any more", holds: outcome == .closed)
        await engine.shutdown()
        server.close()
        try await requireSoon("descriptors are given back") { try openDescriptorCount() <= before }
        try await requireSoon("the thread ends") { try !threadNames().contains("lfs-http") }
    }

    static func ofTheLastReference() async throws {
        let server = try ScriptedServer { _, connection in try connection.reply(200) }
        var engine: CurlTransport? = CurlTransport(.plain())
        _ = try await engine?.send(HTTPRequest(.get, server: server))
        engine = nil
        server.close()
        try await requireSoon("the thread ends") { try !threadNames().contains("lfs-http") }
    }

    /// The number of requests. `LFS_CANCELLATIONS` sets another one.
    static let cancellations = ProcessInfo.processInfo.environment["LFS_CANCELLATIONS"].flatMap { Int($0) } ?? 10_000

    static func ofCancellations() async throws {
        try await withEngine(.curl) { request, connection in
            if request.target == "/hang" { return connection.hang() }
            try connection.readBody(of: request)
            try connection.reply(200, headers: [:], "done")
        } _: { server, engine in
            try await cancelAtRandom(500, seed: 1, server: server, engine: engine)
            let descriptors = try openDescriptorCount()
            let memory = try memoryInUse()
            let ended = try await cancelAtRandom(cancellations, seed: 2, server: server, engine: engine)
            print("\(ended.cancelled) cancelled, \(ended.finished) finished")
            // A tenth of the requests is never answered, and another tenth is never cancelled.
            try require("some are cancelled in time", holds: ended.cancelled > cancellations / 20)
            try require("some are finished first", holds: ended.finished > cancellations / 20)
            try require("all end", holds: ended.cancelled + ended.finished == cancellations)
            try await requireSoon("descriptors are given back") { try openDescriptorCount() <= descriptors + 2 * 32 }
            // 10,000 leaked handles or bodies would take hundreds of megabytes.
            try require("memory is released", holds: try memoryInUse() - memory < 32 << 20)
            _ = try await engine.send(HTTPRequest(.get, server: server))
        }
        try await requireSoon("the thread ends") { try !threadNames().contains("lfs-http") }
    }

    @discardableResult private static func cancelAtRandom(
        _ count: Int, seed: UInt64, server: ScriptedServer, engine: any HTTPTransport
    ) async throws -> (cancelled: Int, finished: Int) {
        var random = SeededGenerator(seed: seed)
        let body = SampleBytes.make(10 << 10)
        var (cancelled, finished) = (0, 0)
        for _ in 0..<count / 20 {
            let tasks = try (0..<20).map { number in
                let request = try HTTPRequest(
                    .put, server: server, target: number < 2 ? "/hang" : "/x", body: .bytes(body))
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

    /// Waits until the condition is true, because the other side of a connection may need a moment. The limit only
    /// guards against hangs. The suite's time limit does not end this process.
    private static func requireSoon(_ rule: String, _ condition: () throws -> Bool) async throws {
        let end = ContinuousClock.now.advanced(by: .seconds(600))
        while try !condition() {
            guard ContinuousClock.now < end else { throw NotSo(rule: rule) }
            await Task.yield()
        }
    }

    private static func require(_ rule: String, holds: Bool) throws {
        guard holds else { throw NotSo(rule: rule) }
    }

    private struct NotSo: Error { let rule: String }
}
#endif
