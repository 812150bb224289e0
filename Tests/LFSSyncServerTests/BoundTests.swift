import Foundation
import Logging
import Synchronization
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("L, O: what streams cost", .timeLimit(.minutes(10)))
struct BoundTests {
    static let recipes = ["RecipeV2"].compactMap { SyncType($0) }
    static let quick = LiveTimes(poll: .milliseconds(5), heartbeat: .seconds(600))

    /// A server that counts what it asks of its database, and whose open streams look often.
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

    /// Lets others run, and holds no thread.
    func pause(_ database: WatchedDatabase) async throws { _ = try await database.base.read { $0.dialect } }

    func text(_ piece: [UInt8]?) throws -> String { String(decoding: try #require(piece), as: UTF8.self) }

    func rows(_ text: String) -> Int { text.split(separator: "\n").count { $0.contains("\"RecipeV2\",\"ack") } }

    /// What comes to a stream that has come to its end and stays open.
    static func wait(_ server: TestServer, _ account: String, _ waiting: Count) async throws -> [UInt8]? {
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

    @Test("L 2 a hundred commits while a device reads come in few pages, each row once and as it is then")
    func manyCommits() async throws {
        try await run { server, database in
            let (one, two) = (try await server.device(), try await server.device())
            var stream = try await two.open(types: Self.recipes, isLive: true)
            #expect(try text(try await stream.next()).contains("SyncCompleteV1"))
            database.clear()
            for number in 1...100 {
                try await one.put("RecipeV2", "r\(number % 10)", ["title": .text("\(number)")])
            }
            var found = ""
            while rows(found) < 10 { found += try text(try await stream.next()) }
            #expect(rows(found) == 10 && found.contains("\"title\":\"100\"") && database.pages <= 2)
            try await one.put("RecipeV2", "last", ["title": .text("x")])
            let last = try text(try await stream.next())
            #expect(rows(last) == 1 && last.contains("\"id\":\"last\""))
        }
    }

    @Test("L 3 streams that wait hold no connection, and all of them look with one statement")
    func idle() async throws {
        var options = SyncServiceOptions()
        options.sessionLimit = 100
        try await run(options: options) { server, database in
            let waiting = Count()
            let tasks = (1...20).map { _ in
                Task { try await Self.wait(server, "ann", waiting) }
            }
            while waiting.value < 20 { try await pause(database) }
            // Each has looked by itself once. After that there is one statement, again and again.
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

    @Test("L 4 what the same session pushes comes to its own stream, once, and its stream goes on")
    func ownPush() async throws {
        try await run { server, database in
            let device = try await server.device()
            var stream = try await device.open(types: Self.recipes, isLive: true)
            #expect(try text(try await stream.next()).contains("SyncCompleteV1"))
            for number in 1...3 {
                let outcome = try await device.put("RecipeV2", "r\(number)", ["title": .text("x")]).outcome
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

    @Test("O 2 fifty devices that read slowly hold no connection between their pages")
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
                // Somebody else has the whole database meanwhile.
                try await server.execute("UPDATE recipe SET servings = 1 WHERE id = 'r1'")
            }
            streams = []
            #expect(server.service.streamCount == 0)
        }
    }

    @Test("O 8 after a thousand streams that came and went nothing of them is left")
    func thousandConnects() async throws {
        try await run { server, database in
            let device = try await server.device()
            try await server.fill(10, bytes: 10)
            for number in 0..<1_000 {
                var stream = try await device.open(types: Self.recipes, isLive: number % 2 == 0)
                _ = try await stream.next()
            }
            #expect(server.service.streamCount == 0)
            // The task that looks after open streams ends with the last of them, which may be in a transaction yet.
            server.service.poke()
            var isQuiet = false
            while !isQuiet {
                database.clear()
                for _ in 0..<100 { try await pause(database) }
                isQuiet = database.transactions == 0
            }
            #expect(database.now == 0)
        }
    }
}

/// Owner of the number: the mutex.
final class Count: Sendable {
    private let count = Mutex(0)

    var value: Int { count.withLock { $0 } }
    func add() { count.withLock { $0 += 1 } }
}
