import Foundation
import GRDB
import LFSHTTP
import LFSSystem
import LFSWire
import Synchronization
import TestSupport
import Testing

@testable import LFSSync
@testable import LFSSyncServer

@Suite("Sync over a faulty network", .timeLimit(.minutes(10)))
struct NetworkTests {
    /// Runs a body with a device that syncs through a faulty network.
    private func run(
        _ body: (TestSync, _ one: TestSync.Device, _ two: TestSync.Device, BadNetwork, SyncClient, ManualClock)
            async throws -> Void
    ) async throws {
        try await TestSync.run { sync in
            let (one, two) = (try await sync.device("one"), try await sync.device("two"))
            let network = BadNetwork(two.transport)
            let clock = ManualClock()
            var options = SyncOptions(server: try #require(URL(string: "https://sync.example")), token: { two.token })
            options.transport = network
            options.clock = clock
            try await body(sync, one, two, network, try await SyncClient.open(two.database, options: options), clock)
        }
    }

    @Test("Behind a proxy that holds live streams back, changes arrive by plain streams")
    func proxy() async throws {
        try await run { sync, one, two, network, client, clock in
            network.holdsLive()
            let running = Task { try await client.run() }
            for number in 1...3 {
                try await one.execute("INSERT INTO recipe (id, title) VALUES ('r\(number)', 'Soup')")
                try await one.sync()
                // The client is waiting for its next round.
                await clock.waitForSleepers()
                clock.advance(by: .seconds(60))
                try await yield(while: network.liveCount <= number)
                #expect(try await two.rows("SELECT count(*) FROM recipe") == ["\(number)"])
            }
            running.cancel()
            await #expect(throws: CancellationError.self) { try await running.value }
            #expect(network.plainCount >= 4)
        }
    }

    @Test("A session that disagrees with its device is reset, and the live sync continues")
    func forked() async throws {
        try await run { sync, one, two, _, client, clock in
            let (changes, changed) = AsyncStream.makeStream(of: SyncReport.self)
            let running = Task { try await client.run { changed.yield($0) } }
            var reports = changes.makeAsyncIterator()
            // The first round and the backlog of the stream that stays open.
            for _ in 0..<2 { _ = await reports.next() }
            // The session is changed as if it had been restored from another backup.
            try await sync.execute("UPDATE sync_session SET lastSequence = 1000")
            try await two.execute("INSERT INTO recipe (id, title) VALUES ('r1', 'Soup')")
            // The stream of the previous round ends with its next line.
            let lines = Task {
                for number in 0..<10_000 where !Task.isCancelled {
                    try await one.execute("INSERT INTO recipe (id, title) VALUES ('n\(number)', 'x')")
                    try await one.sync()
                    sync.service.poke()
                }
            }
            // Whether and how often the device waits before it tries again depends on the lines that are on their way.
            try await yieldAsync {
                clock.advance(by: .seconds(60))
                return try await two.rows("SELECT count(*) FROM lfs_sync_outbox") != ["0"]
            }
            lines.cancel()
            try await one.sync()
            #expect(try await one.rows("SELECT id FROM recipe WHERE id LIKE 'r%'") == ["r1"])
            running.cancel()
            // The stream that is still open has no reader.
            sync.service.shutdown()
            await #expect(throws: CancellationError.self) { try await running.value }
        }
    }

    @Test("After an hour offline with rare attempts a device syncs without a gap")
    func hour() async throws {
        try await run { sync, one, two, network, client, clock in
            let (changes, changed) = AsyncStream.makeStream(of: SyncReport.self)
            let running = Task { try await client.run { changed.yield($0) } }
            var reports = changes.makeAsyncIterator()
            _ = await reports.next()
            try await one.execute("INSERT INTO recipe (id, title) VALUES ('r1', 'Soup')")
            try await one.sync()
            sync.service.poke()
            while try await two.rows("SELECT count(*) FROM recipe") != ["1"] { _ = await reports.next() }
            // The network goes down, and the next part of the open stream is lost.
            network.sleep()
            try await one.execute(
                "INSERT INTO recipe (id, title) VALUES ('r2', 'Stew'); DELETE FROM recipe WHERE id = 'r1'")
            try await one.sync()
            let start = clock.now
            while start.duration(to: clock.now) < .seconds(3_600) {
                await clock.waitForSleepers()
                clock.advance(by: .seconds(10))
            }
            #expect(network.failureCount > 10 && network.failureCount < 80, "\(network.failureCount)")
            await clock.waitForSleepers()
            network.wake()
            clock.advance(by: .seconds(60))
            try await yieldAsync { try await two.rows("SELECT id FROM recipe") != ["r2"] }
            running.cancel()
            // The stream that is still open has no reader.
            sync.service.shutdown()
            await #expect(throws: CancellationError.self) { try await running.value }
        }
    }

    @Test("After a cut no committed row is sent again", arguments: [1, 4_000, 200_000, 350_000, 420_000])
    func resent(cut: Int) async throws {
        try await run { sync, one, two, network, client, clock in
            let count = 3_000
            try await one.execute(
                """
                WITH n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(count))
                INSERT INTO recipe (id, title) SELECT 'r' || i, 'Soup' FROM n
                """)
            try await one.sync()
            two.transport.faults.withLock { $0.cutsStreamAfter = cut }
            await #expect(throws: SyncError.self) { try await client.synchronize() }
            let committed = try await two.rows("SELECT count(*) FROM recipe").first.flatMap { Int($0) } ?? -1
            #expect(cut < 200_000 || committed > 0)
            two.transport.faults.withLock { $0 = .init() }
            network.forgetLines()
            #expect(try await client.synchronize().received == count - committed)
            #expect(network.lines(of: "RecipeV1") == count - committed)
        }
    }
}

/// A network that can go down, or that has a proxy that passes nothing on before a reply has ended.
///
/// The mutex owns its state.
private final class BadNetwork: HTTPTransport {
    private struct State {
        var sleeps = false
        var holdsLive = false
        var failures = 0
        var live = 0
        var plain = 0
        var bytes: [UInt8] = []
    }

    private let base: ServiceTransport
    private let state = Mutex(State())

    init(_ base: ServiceTransport) { self.base = base }

    func holdsLive() { state.withLock { $0.holdsLive = true } }
    func sleep() { state.withLock { $0.sleeps = true } }
    func wake() { state.withLock { $0.sleeps = false } }
    func forgetLines() { state.withLock { $0.bytes = [] } }

    var failureCount: Int { state.withLock(\.failures) }
    var liveCount: Int { state.withLock(\.live) }
    var plainCount: Int { state.withLock(\.plain) }

    /// Returns the number of rows or deletions of a type that have arrived.
    func lines(of type: String) -> Int {
        let start = Array("{\"type\":\"\(type)\"".utf8)
        return state.withLock { $0.bytes.split(separator: 0x0A).count { $0.starts(with: start) } }
    }

    func send(_ request: HTTPRequest) async throws -> HTTPResponse {
        guard case .bytes(let body) = request.body, request.target == "/v1/sync/stream" else {
            return try await passed(request)
        }
        let isLive = String(decoding: body, as: UTF8.self).contains("\"live\":true")
        let isHeld = state.withLock { state in
            if isLive { state.live += 1 } else { state.plain += 1 }
            return isLive && state.holdsLive
        }
        if isHeld { throw HTTPError(.timeout, message: "Nothing has come for 60 seconds.") }
        return try await passed(request)
    }

    private func passed(_ request: HTTPRequest) async throws -> HTTPResponse {
        try require()
        var request = request
        if case .sink(let sink, let mayBlock, let accept) = request.reply {
            let watching: ResponseBody.Sink = { [self] piece in
                state.withLock { $0.bytes += piece }
                try require()
                try sink(piece)
            }
            request.reply = .sink(watching, mayBlock: mayBlock, accept: accept)
        }
        let response = try await base.send(request)
        try require()
        return response
    }

    private func require() throws {
        let sleeps = state.withLock { state in
            if state.sleeps { state.failures += 1 }
            return state.sleeps
        }
        if sleeps { throw HTTPError(.unreachable, message: "There is no network.") }
    }

    func shutdown() async {}
}
