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

@Suite("G, L, O: a device whose network is in its way", .timeLimit(.minutes(10)))
struct NetworkTests {
    /// A device that syncs through a network.
    private func run(
        _ body: (TestSync, _ one: TestSync.Device, _ two: TestSync.Device, BadNetwork, SyncClient, ManualClock)
            async throws -> Void
    ) async throws {
        try await TestSync.run { sync in
            let (one, two) = (try await sync.device("one"), try await sync.device("two"))
            let network = BadNetwork(two.transport)
            let clock = ManualClock()
            var options = SyncOptions(server: try #require(URL(string: "https://sync.example")), token: { two.token })
            (options.transport, options.clock) = (network, clock)
            try await body(sync, one, two, network, try await SyncClient.open(two.database, options: options), clock)
        }
    }

    @Test("G 20 behind a proxy that holds live streams back, what is new comes with plain ones, again and again")
    func proxy() async throws {
        try await run { sync, one, two, network, client, clock in
            network.holdsLive()
            let running = Task { try await client.run() }
            for number in 1...3 {
                try await one.execute("INSERT INTO recipe (id, title) VALUES ('r\(number)', 'Soup')")
                try await one.sync()
                // It waits for its next turn.
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

    @Test("a session that no longer agrees with this device begins anew, and the live sync goes on")
    func forked() async throws {
        try await run { sync, one, two, _, client, clock in
            let (changes, changed) = AsyncStream.makeStream(of: SyncReport.self)
            let running = Task { try await client.run { changed.yield($0) } }
            var reports = changes.makeAsyncIterator()
            // The first turn, and what the stream that stays open has had before.
            for _ in 0..<2 { _ = await reports.next() }
            // As one that was restored from a backup of another time.
            try await sync.execute("UPDATE sync_session SET lastSequence = 1000")
            try await two.execute("INSERT INTO recipe (id, title) VALUES ('r1', 'Soup')")
            // The stream of the turn before ends with its next line.
            let lines = Task {
                for number in 0..<10_000 where !Task.isCancelled {
                    try await one.execute("INSERT INTO recipe (id, title) VALUES ('n\(number)', 'x')")
                    try await one.sync()
                    sync.service.poke()
                }
            }
            await clock.waitForSleepers()
            lines.cancel()
            clock.advance(by: .seconds(60))
            try await yieldAsync { try await two.rows("SELECT count(*) FROM lfs_sync_outbox") != ["0"] }
            try await one.sync()
            #expect(try await one.rows("SELECT id FROM recipe WHERE id LIKE 'r%'") == ["r1"])
            running.cancel()
            // A stream that is open has nobody who takes it.
            sync.service.shutdown()
            await #expect(throws: CancellationError.self) { try await running.value }
        }
    }

    @Test("L 7 after an hour without a network it goes on without a gap, and has asked no more than once a minute")
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
            // It sleeps, and what comes next of the stream that is open is lost.
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
            // A stream that is open has nobody who takes it.
            sync.service.shutdown()
            await #expect(throws: CancellationError.self) { try await running.value }
        }
    }

    @Test("O 5 after a cut no row comes again that was committed", arguments: [1, 4_000, 200_000, 350_000, 420_000])
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

/// A network that sleeps, or has a proxy that passes nothing on before a reply has ended.
///
/// Owner of its state: the mutex.
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

    /// How many rows or deletions of a type have come.
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
        if isHeld { throw HTTPError(.timeout, "Nothing has come for 60 seconds.") }
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
        if sleeps { throw HTTPError(.unreachable, "There is no network.") }
    }

    func shutdown() async {}
}
