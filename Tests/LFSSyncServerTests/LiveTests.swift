import Foundation
import Logging
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("L Streams that stay open", .timeLimit(.minutes(10)))
struct LiveTests {
    private static let quick = LiveTimes(poll: .milliseconds(5), heartbeat: .seconds(86_400))

    private func run(_ times: LiveTimes = Self.quick, _ body: (TestServer) async throws -> Void) async throws {
        try await TestStore.run { database in
            let service = try await SyncService(
                database, schema: TestServer.schema, options: SyncServiceOptions(), logger: Logger(label: "test"),
                times: times)
            try await body(TestServer(database: database, service: service))
        }
    }

    /// The types of lines, each row with its id.
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
        guard case .stream(let stream) = reply.body else { throw WireFailure(.invalidRequest, "\(reply)") }
        return stream.makeAsyncIterator()
    }

    private static let first = ["SyncAckV1", "SyncAckV1", "SyncCompleteV1"]

    @Test("1 send what another device commits, and nothing twice, although nobody has acknowledged it")
    func follows() async throws {
        try await run { server in
            let (one, two) = (try await server.device(), try await server.device())
            try await one.put("RecipeV2", "r1", ["title": .text("Soup")])
            var stream = try await open(two)
            #expect(try await words(stream.next()) == ["SyncAckV1", "RecipeV2 r1", "SyncAckV1", "SyncCompleteV1"])
            try await one.put("RecipeV2", "r2", ["title": .text("Stew")])
            #expect(try await words(stream.next()) == ["SyncAckV1", "RecipeV2 r2", "SyncAckV1", "SyncCompleteV1"])
            try await one.push(.delete, "RecipeV2", "r1")
            #expect(
                try await words(stream.next()) == ["SyncAckV1", "RecipeDeleteV2 r1", "SyncAckV1", "SyncCompleteV1"])
        }
    }

    @Test("1 see as well what another process has committed")
    func otherProcess() async throws {
        try await run { server in
            var stream = try await open(try await server.device())
            #expect(try await words(stream.next()) == Self.first)
            let scope = try await server.scope(of: "ann")
            try await server.execute("INSERT INTO recipe (id, scopeID, title) VALUES ('r1', '\(scope)', 'Soup')")
            #expect(try await words(stream.next()).contains("RecipeV2 r1"))
        }
    }

    @Test("5 begin with a right that is given, and end with one that is withdrawn, again and again")
    func grants() async throws {
        try await run { server in
            let (ann, bob) = (try await server.device(), try await server.device(of: "bob"))
            try await bob.put("RecipeV2", "r1", ["title": .text("His")])
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

    @Test("19 of G: say that they live when nothing happens")
    func heartbeat() async throws {
        try await run(LiveTimes(poll: .milliseconds(5), heartbeat: .milliseconds(20))) { server in
            var stream = try await open(try await server.device())
            #expect(try await words(stream.next()) == Self.first)
            for _ in 0..<3 { #expect(try await words(stream.next()) == ["SyncHeartbeatV1"]) }
        }
    }

    @Test("6 end after their time as a whole stream, and the next one has no gap")
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
            try await device.put("RecipeV2", "r1", ["title": .text("Soup")])
            #expect(try await device.delivery().items == ["Recipe r1"])
        }
    }

    @Test("21 of G: end when another one of the same session begins")
    func replaced() async throws {
        try await run { server in
            let device = try await server.device()
            var older = try await open(device)
            #expect(try await words(older.next()) == Self.first)
            var newer = try await open(device)
            #expect(try await words(older.next()) == ["SyncErrorV1"])
            #expect(try await older.next() == nil)
            #expect(try await words(newer.next()) == ["SyncCompleteV1"])
        }
    }

    @Test("22 of G: end with the server, and nobody waits for them")
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

    @Test("2 of M: end when the session is removed")
    func revoked() async throws {
        try await run { server in
            var stream = try await open(try await server.device())
            #expect(try await words(stream.next()) == Self.first)
            try await server.execute("DELETE FROM sync_session")
            server.service.poke()
            #expect(try await words(stream.next()) == ["SyncErrorV1"])
            #expect(try await stream.next() == nil)
        }
    }
}
