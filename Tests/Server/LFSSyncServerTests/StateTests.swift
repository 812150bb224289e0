import Foundation
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("Device state", .timeLimit(.minutes(10)))
struct StateTests {
    /// Runs a body with a device that has sent and received two recipes.
    private func run(_ body: (TestServer, TestDevice) async throws -> Void) async throws {
        try await TestServer.run { server in
            let device = try await server.device()
            for number in 1...2 {
                try await device.put("RecipeV2", key: "r\(number)", values: ["title": .text("Soup")])
            }
            try await device.sync()
            try await body(server, device)
        }
    }

    private func text(_ reply: SyncReply) async throws -> String {
        String(decoding: try await TestDevice.bytes(reply), as: UTF8.self)
    }

    @Test("A device can read and delete its checkpoints, all or by type")
    func checkpoints() async throws {
        try await run { server, device in
            let acks = try await text(await server.service.acknowledged(token: device.token))
            let scope = try await server.scope(of: "ann")
            #expect(acks.hasPrefix("{\"acks\":[\"CommentV1|\(scope)|") && acks.split(separator: ",").count == 4)
            let one = Data(#"{"types":["RecipeV2"]}"#.utf8)
            #expect(await server.service.forget(one, token: device.token).status == 204)
            let delivery = try await device.delivery()
            #expect(delivery.items == ["Recipe r1", "Recipe r2"] && delivery.tokens.count == 4)
            try await device.acknowledge(delivery.tokens)
            #expect(await server.service.forget(Data(), token: device.token).status == 204)
            #expect(try await text(await server.service.acknowledged(token: device.token)) == "{\"acks\":[]}\n")
            #expect(try await device.sync().count == 2)
            #expect(await server.service.forget(Data("{\"types\":[\"x\"]}".utf8), token: device.token).status == 400)
        }
    }

    @Test("Repeated and unknown types of a deletion of checkpoints cost no statements")
    func repeatedTypes() async throws {
        try await TestServer.watched { server, database in
            let device = try await server.device()
            try await device.put("RecipeV2", key: "r1", values: ["title": .text("Soup")])
            try await device.sync()
            let types = Array(repeating: "RecipeV2", count: 400) + Array(repeating: "AbsentV1", count: 100)
            let body = try JSONEncoder().encode(["types": types])
            database.clear()
            #expect(await server.service.forget(body, token: device.token).status == 204)
            #expect(database.statements.count { $0.hasPrefix("UPDATE sync_checkpoint") } == 1)
            #expect(try await device.sync() == ["Recipe r1"])
        }
    }

    @Test("A digest counts and hashes only the keys that the account may read")
    func digest() async throws {
        try await SharingServer.run { server in
            let (ann, bob) = (try await server.person("ann"), try await server.person("bob"))
            for key in ["a1", "a2"] { try await ann.file(key) }
            try await bob.file("b1")
            try await ann.album("x")
            try await ann.link("x", file: "a1")
            try await ann.share("x", other: bob, role: "editor")
            try await bob.link("x", file: "b1")
            let request = try WireFormat.encode(SyncStreamRequest(types: [[try #require(SyncType("FileV1"))]]))
            let lines = try await text(await server.service.digest(request, token: bob.device.token))
            // The first digits of `printf a1 | sha256sum`.
            let own = "{\"type\":\"FileV1\",\"count\":1,\"hash\":\"7dc96f776c8423e5\"}\n"
            let shared = "{\"type\":\"FileV1\",\"scope\":\"album/x\",\"count\":1,\"hash\":\"f55ff16f66f43360\"}\n"
            #expect(lines == own + shared)
        }
    }

    @Test("The schema lists each version of each type with its columns")
    func schema() async throws {
        try await run { server, device in
            let reply = try await text(await server.service.types(token: device.token))
            let object = try JSONSerialization.jsonObject(with: Data(reply.utf8)) as? [String: Any]
            let types = try #require(object?["types"] as? [[String: Any]])
            let names = types.compactMap { $0["type"] as? String }
            #expect(names == ["FileV1", "RecipeV1", "RecipeV2", "StepV1", "CommentV1"])
            let columns = try #require(types[2]["columns"] as? [[String: Any]])
            #expect(columns.count == 6 && columns[0]["required"] as? Bool == true)
            #expect(columns[4]["parent"] as? String == "lfs_file" && columns[5]["name"] as? String == "note")
        }
    }

    @Test("State requests without a session are refused")
    func strangers() async throws {
        try await run { (server, device) async throws in
            let service = server.service
            for token in [nil, "x"] {
                #expect(await service.acknowledged(token: token).status == 401)
                #expect(await service.forget(Data(), token: token).status == 401)
                #expect(await service.digest(Data(), token: token).status == 401)
                #expect(await service.types(token: token).status == 401)
            }
        }
    }

    @Test("An account over the request limit gets a retry time without affecting others")
    func rate() async throws {
        let clock = ManualClock()
        let start = Date()
        var options = SyncServiceOptions()
        // The clock advances only when the test moves it.
        options.now = { start.addingTimeInterval(clock.passed.rounded()) }
        options.requestsPerSecond = 2
        try await TestServer.run(options: options) { server in
            let device = try await server.device()
            let bob = try await server.device(of: "bob")
            func ask(_ device: TestDevice) async -> SyncReply { await server.service.acknowledged(token: device.token) }
            for _ in 1...20 { #expect(await ask(device).status == 200) }
            let refused = await ask(device)
            #expect(refused.status == 429 && refused.headers["retry-after"] == "1")
            #expect(await ask(bob).status == 200)
            clock.advance(days: 1 / 86_400)
            for _ in 1...2 { #expect(await ask(device).status == 200) }
            #expect(await ask(device).status == 429)
            clock.advance(days: -1)
            #expect(await ask(device).status == 429)
        }
    }
}
