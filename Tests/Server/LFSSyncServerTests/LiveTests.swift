import Foundation
import Logging
import Synchronization
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("Live streams", .timeLimit(.minutes(10)))
struct LiveTests {
    private static let quick = LiveTimes(poll: .milliseconds(5), heartbeat: .seconds(86_400))
    /// Times at which nothing is polled during a test.
    private static let rare = LiveTimes(
        poll: .seconds(86_400), repair: .seconds(86_400), heartbeat: .seconds(86_400))

    private func run(
        _ times: LiveTimes = Self.quick, options: SyncServiceOptions = SyncServiceOptions(),
        _ body: (TestServer) async throws -> Void
    ) async throws {
        try await TestStore.run { database in
            let service = try await SyncService(
                database, schema: TestServer.schema, options: options, logger: Logger(label: "test"), times: times)
            try await body(TestServer(database: database, service: service))
        }
    }

    /// Returns the types of the lines, and the ids of rows.
    private func words(_ piece: [UInt8]?) throws -> [String] {
        try String(decoding: try #require(piece), as: UTF8.self).split(separator: "\n").map { line in
            let fields = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            let id = (fields["data"] as? [String: Any])?["id"] as? String
            return [fields["type"] as? String ?? "?", id].compactMap(\.self).joined(separator: " ")
        }
    }

    private func open(_ device: TestDevice) async throws -> SyncStream.Iterator {
        let types = ["FileV1", "RecipeV2"].compactMap { SyncType($0).map { [$0] } }
        let request = SyncStreamRequest(types: types, isLive: true)
        let reply = await device.service.stream(try WireFormat.encode(request), token: device.token)
        guard case .stream(let stream) = reply.body else { throw WireFailure(.invalidRequest, message: "\(reply)") }
        return stream.makeAsyncIterator()
    }

    private static let first = ["SyncAckV1", "SyncAckV1", "SyncCompleteV1"]

    @Test("A live stream sends each commit of another device once without acks")
    func follows() async throws {
        try await run { server in
            let (one, two) = (try await server.device(), try await server.device())
            try await one.put("RecipeV2", key: "r1", values: ["title": .text("Soup")])
            var stream = try await open(two)
            #expect(try await words(stream.next()) == ["SyncAckV1", "RecipeV2 r1", "SyncAckV1", "SyncCompleteV1"])
            try await one.put("RecipeV2", key: "r2", values: ["title": .text("Stew")])
            #expect(try await words(stream.next()) == ["SyncAckV1", "RecipeV2 r2", "SyncAckV1", "SyncCompleteV1"])
            try await one.push(.delete, type: "RecipeV2", key: "r1")
            #expect(
                try await words(stream.next()) == ["SyncAckV1", "RecipeDeleteV2 r1", "SyncAckV1", "SyncCompleteV1"])
        }
    }

    @Test("A live stream sees commits of another process")
    func otherProcess() async throws {
        try await run { server in
            var stream = try await open(try await server.device())
            #expect(try await words(stream.next()) == Self.first)
            let scope = try await server.scope(of: "ann")
            try await server.execute("INSERT INTO recipe (id, scopeID, title) VALUES ('r1', '\(scope)', 'Soup')")
            #expect(try await words(stream.next()).contains("RecipeV2 r1"))
        }
    }

    @Test("A live stream follows grants and withdrawals of access")
    func grants() async throws {
        try await run { server in
            let (ann, bob) = (try await server.device(), try await server.device(of: "bob"))
            try await bob.put("RecipeV2", key: "r1", values: ["title": .text("His")])
            let scope = try await server.scope(of: "bob")
            let account = try await server.text("SELECT id FROM sync_account WHERE name = 'ann'") ?? ""
            var stream = try await open(ann)
            #expect(try await words(stream.next()) == Self.first)
            for _ in 0..<2 {
                try await server.execute(
                    "INSERT INTO sync_grant (scopeID, accountID, role) VALUES ('\(scope)', '\(account)', 'viewer')")
                #expect(try await words(stream.next()).contains("RecipeV2 r1"))
                try await server.execute(
                    "DELETE FROM sync_grant WHERE scopeID = '\(scope)' AND accountID = '\(account)'")
                #expect(try await words(stream.next()) == ["ScopeDeleteV1", "SyncCompleteV1"])
            }
        }
    }

    @Test("An idle live stream sends heartbeats")
    func heartbeat() async throws {
        try await run(LiveTimes(poll: .milliseconds(5), heartbeat: .milliseconds(20))) { server in
            var stream = try await open(try await server.device())
            #expect(try await words(stream.next()) == Self.first)
            for _ in 0..<3 { #expect(try await words(stream.next()) == ["SyncHeartbeatV1"]) }
        }
    }

    @Test("Heartbeats of an idle live stream read nothing from the database")
    func idle() async throws {
        try await TestStore.run { database in
            let watched = WatchedDatabase(database)
            let service = try await SyncService(
                watched, schema: TestServer.schema, options: SyncServiceOptions(), logger: Logger(label: "test"),
                times: LiveTimes(poll: .seconds(86_400), heartbeat: .milliseconds(5)))
            let server = TestServer(database: watched, service: service)
            let (one, two) = (try await server.device(), try await server.device())
            let other = try await server.device(of: "bob")
            var stream = try await open(two)
            #expect(try await words(stream.next()) == Self.first)
            try await one.put("RecipeV2", key: "r1", values: ["title": .text("Soup")])
            while try await !words(stream.next()).contains("RecipeV2 r1") {}
            // The push of another account does not concern the stream.
            try await other.put("RecipeV2", key: "r2", values: ["title": .text("Stew")])
            #expect(try await words(stream.next()) == ["SyncHeartbeatV1"])
            watched.clear()
            for _ in 0..<20 { #expect(try await words(stream.next()) == ["SyncHeartbeatV1"]) }
            // The first look at the session and the notice of the first row may come late, and cause one read each.
            #expect(watched.statements.count { $0.contains("FROM sync_checkpoint") } <= 2)
            try await one.put("RecipeV2", key: "r3", values: ["title": .text("Stew")])
            while try await !words(stream.next()).contains("RecipeV2 r3") {}
        }
    }

    @Test("A live stream ends completely at its time limit, and the next one has no gap")
    func longest() async throws {
        try await run(LiveTimes(poll: .milliseconds(5), heartbeat: .seconds(86_400), longest: .milliseconds(20))) {
            server in
            let device = try await server.device()
            var stream = try await open(device)
            #expect(try await words(stream.next()) == Self.first)
            #expect(try await words(stream.next()) == ["SyncCompleteV1"])
            #expect(try await stream.next() == nil)
            #expect(server.service.streamCount == 1)
            _ = consume stream
            try await device.put("RecipeV2", key: "r1", values: ["title": .text("Soup")])
            #expect(try await device.delivery().items == ["Recipe r1"])
        }
    }

    @Test("A live stream ends when the same session opens another one")
    func replaced() async throws {
        try await run { server in
            let device = try await server.device()
            var older = try await open(device)
            #expect(try await words(older.next()) == Self.first)
            var newer = try await open(device)
            let piece = try await older.next()
            let end = String(decoding: try #require(piece), as: UTF8.self)
            #expect(end.contains(#""code":"replaced""#) && end.contains(#""isRetryable":true"#), "\(end)")
            #expect(try await older.next() == nil)
            #expect(try await words(newer.next()) == ["SyncCompleteV1"])
        }
    }

    @Test("A live stream ends when the server shuts down")
    func stopped() async throws {
        try await run { server in
            let device = try await server.device()
            var stream = try await open(device)
            #expect(try await words(stream.next()) == Self.first)
            server.service.shutdown()
            #expect(try await words(stream.next()) == ["SyncErrorV1"])
            #expect(try await stream.next() == nil)
            var late = try await open(device)
            #expect(try await words(late.next()) == ["SyncErrorV1"])
        }
    }

    @Test("A live stream ends when its session is removed, without a poll")
    func revoked() async throws {
        try await run(Self.rare) { server in
            var stream = try await open(try await server.device())
            #expect(try await words(stream.next()) == Self.first)
            try await server.execute("DELETE FROM sync_session")
            #expect(try await words(stream.next()) == ["SyncErrorV1"])
            #expect(try await stream.next() == nil)
        }
    }

    @Test("A live stream ends when its session starts over, without a poll")
    func startsOver() async throws {
        try await run(Self.rare) { server in
            var stream = try await open(try await server.device())
            #expect(try await words(stream.next()) == Self.first)
            let session = try #require(try await server.service.sessions().first)
            #expect(try await server.service.resetSession(session.id))
            #expect(try await words(stream.next()) == ["SyncErrorV1"])
        }
    }

    @Test("A live stream ends when its session expires")
    func expired() async throws {
        let now = Mutex(Date())
        var options = SyncServiceOptions()
        options.now = { now.withLock { $0 } }
        let times = LiveTimes(poll: .milliseconds(5), repair: .milliseconds(5), heartbeat: .seconds(86_400))
        try await run(times, options: options) { server in
            let token = try await server.service.addSession(account: "ann", lifetime: .seconds(3_600))
            var stream = try await open(TestDevice(service: server.service, token: token))
            #expect(try await words(stream.next()) == Self.first)
            now.withLock { $0 += 3_601 }
            #expect(try await words(stream.next()) == ["SyncErrorV1"])
        }
    }

    @Test("A live stream follows pushes and access without a poll")
    func noPoll() async throws {
        try await run(Self.rare) { server in
            let (ann, bob) = (try await server.device(), try await server.device(of: "bob"))
            try await bob.put("RecipeV2", key: "r1", values: ["title": .text("His")])
            let scope = try await server.scope(of: "bob")
            let account = try await server.text("SELECT id FROM sync_account WHERE name = 'ann'") ?? ""
            var stream = try await open(ann)
            #expect(try await words(stream.next()) == Self.first)
            for number in 2...4 {
                try await server.execute(
                    "INSERT INTO sync_grant (scopeID, accountID, role) VALUES ('\(scope)', '\(account)', 'viewer')")
                #expect(try await words(stream.next()).contains("RecipeV2 r1"))
                try await bob.put("RecipeV2", key: "r\(number)", values: ["title": .text("His")])
                #expect(try await words(stream.next()).contains("RecipeV2 r\(number)"))
                try await server.execute(
                    "DELETE FROM sync_grant WHERE scopeID = '\(scope)' AND accountID = '\(account)'")
                #expect(try await words(stream.next()) == ["ScopeDeleteV1", "SyncCompleteV1"])
            }
        }
    }
}
