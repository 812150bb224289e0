import Foundation
import Logging
import Synchronization
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("Costs of streams", .timeLimit(.minutes(10)))
struct BoundTests {
    static let recipes = ["RecipeV2"].compactMap { SyncType($0) }
    static let quick = LiveTimes(
        poll: .milliseconds(5), repair: .milliseconds(5), heartbeat: .seconds(600))

    /// Runs a body with a server that counts its database calls and polls often for open streams.
    func run(
        _ times: LiveTimes = Self.quick, options: SyncServiceOptions = SyncServiceOptions(),
        _ body: (TestServer, WatchedDatabase) async throws -> Void
    ) async throws {
        try await TestStore.run { database in
            let watched = WatchedDatabase(database)
            let service = try await SyncService(
                watched, schema: TestServer.schema, options: options, logger: Logger(label: "test"), times: times)
            try await body(TestServer(database: watched, service: service), watched)
        }
    }

    /// Lets other tasks run without holding a thread.
    func pause(_ database: WatchedDatabase) async throws { _ = try await database.base.read { $0.dialect } }

    func text(_ piece: [UInt8]?) throws -> String { String(decoding: try #require(piece), as: UTF8.self) }

    func rows(_ text: String) -> Int { text.split(separator: "\n").count { $0.contains("\"RecipeV2\",\"ack") } }

    /// Opens a live stream, reads it up to date, and returns the next piece.
    static func wait(_ server: TestServer, account: String, waiting: Count) async throws -> [UInt8]? {
        var stream: SyncStream.Iterator
        do {
            stream = try await server.device(of: account).open(types: recipes, isLive: true)
            _ = try await stream.next()
            waiting.add()
        } catch {
            waiting.add()
            throw error
        }
        return try await stream.next()
    }

    @Test("Many commits during a live stream arrive in few pages with the latest rows")
    func manyCommits() async throws {
        try await run { server, database in
            let (one, two) = (try await server.device(), try await server.device())
            var stream = try await two.open(types: Self.recipes, isLive: true)
            #expect(try text(try await stream.next()).contains("SyncCompleteV1"))
            database.clear()
            for number in 1...100 {
                try await one.put("RecipeV2", key: "r\(number % 10)", values: ["title": .text("\(number)")])
            }
            var found = ""
            while rows(found) < 10 { found += try text(try await stream.next()) }
            #expect(rows(found) == 10 && found.contains("\"title\":\"100\"") && database.pages <= 2)
            try await one.put("RecipeV2", key: "last", values: ["title": .text("x")])
            let last = try text(try await stream.next())
            #expect(rows(last) == 1 && last.contains("\"id\":\"last\""))
        }
    }

    @Test("Idle streams hold no connection and share one polling statement")
    func idle() async throws {
        var options = SyncServiceOptions()
        options.sessionLimit = 100
        try await run(options: options) { server, database in
            let waiting = Count()
            let tasks = (1...20).map { _ in
                Task { try await Self.wait(server, account: "ann", waiting: waiting) }
            }
            while waiting.value < 20 { try await pause(database) }
            // Each stream polls once alone. Then one shared statement repeats.
            var statements: [String] = []
            repeat {
                database.clear()
                while database.transactions < 20 { try await pause(database) }
                statements = database.statements
            } while !statements.allSatisfy { $0.contains("FROM sync_session e") }
            database.clear()
            while database.transactions < 20 { try await pause(database) }
            #expect(database.most <= 1 && database.pages == 0)
            #expect(database.statements.allSatisfy { $0.contains("FROM sync_session e") })
            server.service.shutdown()
            for task in tasks {
                let end = try text(try await task.value)
                #expect(end.contains("SyncErrorV1"))
            }
        }
    }

    @Test("A session's live stream receives the session's own push once")
    func ownPush() async throws {
        try await run { server, database in
            let device = try await server.device()
            var stream = try await device.open(types: Self.recipes, isLive: true)
            #expect(try text(try await stream.next()).contains("SyncCompleteV1"))
            for number in 1...3 {
                let outcome = try await device.put("RecipeV2", key: "r\(number)", values: ["title": .text("x")]).outcome
                let found = try text(try await stream.next())
                #expect(rows(found) == 1 && found.contains("\"id\":\"r\(number)\""))
                guard case .applied(let position?) = outcome else {
                    Issue.record("\(outcome)")
                    return
                }
                #expect(found.contains(position.text))
            }
        }
    }

    @Test("Slow readers hold no connection between their pages")
    func slowReaders() async throws {
        var options = SyncServiceOptions()
        options.sessionLimit = 100
        try await run(options: options) { server, database in
            _ = try await server.device()
            try await server.fill(2_500, bytes: 200)
            var streams: [SyncStream.Iterator] = []
            for _ in 1...50 { streams.append(try await server.device().open(types: Self.recipes)) }
            #expect(server.service.streamCount == 50)
            for _ in 1...2 {
                for index in streams.indices {
                    #expect(try await streams[index].next() != nil)
                    #expect(database.now == 0)
                }
                // Another writer can lock the whole database.
                try await server.execute("UPDATE recipe SET servings = 1 WHERE id = 'r1'")
            }
            streams = []
            #expect(server.service.streamCount == 0)
        }
    }

    @Test("A thousand closed streams leave nothing behind")
    func thousandConnects() async throws {
        try await run { server, database in
            let device = try await server.device()
            try await server.fill(10, bytes: 10)
            for number in 0..<1_000 {
                var stream = try await device.open(types: Self.recipes, isLive: number % 2 == 0)
                _ = try await stream.next()
            }
            #expect(server.service.streamCount == 0)
            // The polling task ends with the last open stream and may still be in a transaction.
            server.service.poke()
            var isQuiet = false
            while !isQuiet {
                database.clear()
                for _ in 0..<100 { try await pause(database) }
                isQuiet = database.transactions == 0 && database.now == 0
            }
            #expect(database.now == 0)
        }
    }
}

/// A thread-safe counter. The mutex owns the number.
final class Count: Sendable {
    private let count = Mutex(0)

    var value: Int { count.withLock { $0 } }
    func add() { count.withLock { $0 += 1 } }
}
