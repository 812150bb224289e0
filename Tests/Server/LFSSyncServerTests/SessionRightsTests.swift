import Foundation
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("Expiry and rights of sessions", .timeLimit(.minutes(10)))
struct SessionRightsTests {
    private let recipes = ["RecipeV2"].compactMap { SyncType($0) }

    private func run(
        idleDays: Double?, _ body: (TestServer, ManualClock) async throws -> Void
    ) async throws {
        let clock = ManualClock()
        var options = clock.options
        options.sessionIdleTime = idleDays.map { .seconds($0 * 86_400) }
        try await TestServer.run(options: options) { server in try await body(server, clock) }
    }

    private func device(
        _ server: TestServer, lifetime: Duration? = nil, rights: SyncSessionRights = .init()
    ) async throws -> TestDevice {
        let token = try await server.service.addSession(account: "ann", lifetime: lifetime, rights: rights)
        return TestDevice(service: server.service, token: token)
    }

    private func stream(_ device: TestDevice, types: [SyncType] = TestServer.types) async throws -> SyncReply {
        await device.service.stream(
            try WireFormat.encode(SyncStreamRequest(types: types.map { [$0] })), token: device.token)
    }

    /// Returns the reply to a push of one recipe or file.
    private func push(_ device: TestDevice, type: String = "RecipeV2") async throws -> SyncReply {
        var line: [UInt8] = []
        SyncMutation(
            id: "m", sequence: 1, type: try #require(SyncType(type)), operation: .put, key: "r1",
            row: SyncRow(["title": .text("Soup")])
        ).write(to: &line)
        return await device.service.push(Data(line), token: device.token)
    }

    private func code(_ reply: SyncReply) throws -> String? {
        guard case .whole(let data) = reply.body else { return nil }
        let fields = try JSONSerialization.jsonObject(with: data) as? [String: [String: Any]]
        return fields?["error"]?["code"] as? String
    }

    @Test("By default a session expires 90 days after its last use")
    func standard() async throws {
        #expect(SyncServiceOptions().sessionIdleTime == .seconds(90 * 86_400))
        try await run(idleDays: 90) { server, clock in
            let (used, unused) = (try await device(server), try await device(server))
            for _ in 1...3 {
                clock.advance(days: 80)
                #expect(try await stream(used).status == 200)
            }
            #expect(try await stream(unused).status == 401)
            clock.advance(days: 91)
            #expect(try await stream(used).status == 401)
            try await server.service.prune()
            #expect(try await server.service.sessions() == [])
        }
    }

    @Test("A push counts as a use of the session")
    func pushed() async throws {
        try await run(idleDays: 90) { server, clock in
            let device = try await device(server)
            for number in 1...3 {
                clock.advance(days: 80)
                #expect(
                    try await device.put("RecipeV2", key: "r\(number)", values: ["title": .text("x")]).outcome.isApplied
                )
            }
        }
    }

    @Test("A session that is used each half day does not expire after an idle time of a day")
    func short() async throws {
        try await run(idleDays: 1) { server, clock in
            let device = try await device(server)
            for _ in 1...6 {
                clock.advance(days: 0.45)
                #expect(try await stream(device).status == 200)
            }
        }
    }

    @Test("A session with a lifetime ends after it, even if the session is used")
    func lifetime() async throws {
        try await run(idleDays: 90) { server, clock in
            let device = try await device(server, lifetime: .seconds(100 * 86_400))
            clock.advance(days: 60)
            #expect(try await stream(device).status == 200)
            clock.advance(days: 39)
            #expect(try await stream(device).status == 200)
            clock.advance(days: 2)
            #expect(try await stream(device).status == 401)
        }
    }

    @Test("A session without an idle time lasts until it is revoked")
    func unlimited() async throws {
        try await run(idleDays: nil) { server, clock in
            let device = try await device(server)
            clock.advance(days: 10_000)
            #expect(try await stream(device).status == 200)
            #expect(try await server.service.sessions().first?.expiresAt == nil)
        }
    }

    @Test("Only its own account extends a session, which then has a new end")
    func extended() async throws {
        try await run(idleDays: 90) { server, clock in
            let device = try await device(server, lifetime: .seconds(10 * 86_400))
            clock.advance(days: 8)
            let error = await #expect(throws: SyncSessionError.self) {
                try await server.service.extendSession(token: device.token, account: "bob", lifetime: nil)
            }
            #expect(error?.code == .unknownSession)
            try await server.service.extendSession(
                token: device.token, account: "ann", lifetime: .seconds(10 * 86_400))
            clock.advance(days: 8)
            #expect(try await stream(device).status == 200)
            clock.advance(days: 3)
            await #expect(throws: SyncSessionError.self) {
                try await server.service.extendSession(token: device.token, account: "ann", lifetime: nil)
            }
            #expect(try await stream(device).status == 401)
        }
    }

    @Test("A read-only session reads everything, and its pushes are refused as a whole")
    func readOnly() async throws {
        try await run(idleDays: 90) { server, _ in
            var rights = SyncSessionRights()
            rights.isReadOnly = true
            let (writer, reader) = (try await device(server), try await device(server, rights: rights))
            try await writer.put("RecipeV2", key: "r2", values: ["title": .text("x")])
            #expect(try await reader.sync() == ["Recipe r2"])
            let reply = try await push(reader)
            #expect(reply.status == 403)
            #expect(try code(reply) == "read_only")
            #expect(try await server.count("recipe") == 1)
            #expect(try await server.service.access(ofToken: reader.token)?.rights == rights)
            #expect(try await server.service.sessions().map(\.rights.isReadOnly).sorted { !$0 && $1 } == [false, true])
        }
    }

    @Test("A session of named types may use no other type")
    func types() async throws {
        try await run(idleDays: 90) { server, _ in
            var rights = SyncSessionRights()
            rights.types = ["recipe", "Step"]
            let device = try await device(server, rights: rights)
            let refused = try await stream(device)
            #expect(refused.status == 403)
            #expect(try code(refused) == "type_not_allowed")
            let pushed = try await push(device, type: "FileV1")
            #expect(pushed.status == 403)
            #expect(try code(pushed) == "type_not_allowed")
            let digest = try WireFormat.encode(SyncStreamRequest(types: TestServer.types.map { [$0] }))
            #expect(await device.service.digest(digest, token: device.token).status == 403)
            #expect(try await push(device).status == 200)
            #expect(try await device.sync(types: recipes) == ["Recipe r1"])
            guard case .whole(let schema) = await device.service.types(token: device.token).body else { return }
            let text = String(decoding: schema, as: UTF8.self)
            #expect(text.contains("RecipeV2") && text.contains("StepV1") && !text.contains("CommentV1"))
            #expect(try await server.service.sessions().first?.rights.types == ["Recipe", "Step"])
            rights.types = ["recipe", "planet"]
            let error = await #expect(throws: SyncSessionError.self) {
                try await self.device(server, rights: rights)
            }
            #expect(error?.code == .unknownType && error?.message.contains("'planet'") == true)
        }
    }
}
