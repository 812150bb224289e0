import Foundation
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("Checkpoints and acks", .timeLimit(.minutes(10)))
struct AckTests {
    /// Runs a body with a device that has sent three recipes and received none of them, and with its first stream.
    private func run(_ body: (TestServer, TestDevice, TestDevice.Delivery) async throws -> Void) async throws {
        try await TestServer.run { server in
            let device = try await server.device()
            for number in 1...3 {
                try await device.put("RecipeV2", key: "r\(number)", values: ["title": .text("Soup")])
            }
            try await body(server, device, try await device.delivery())
        }
    }

    private func status(_ device: TestDevice, number: Int64, tokens: [SyncToken], id: String = "x") async throws
        -> Int
    {
        let body = SyncAckBatch(number: number, id: id, tokens: tokens)
        return await device.service.acknowledge(try WireFormat.encode(body), token: device.token).status
    }

    @Test("Only rows without an ack are sent again")
    func some() async throws {
        try await run { server, device, delivery in
            #expect(try await device.delivery().items == delivery.items && delivery.items.count == 3)
            let recipes = delivery.tokens.filter { $0.place.type.name == "Recipe" }
            try await device.acknowledge([recipes[1]])
            #expect(try await device.delivery().items == ["Recipe r3"])
            try await device.acknowledge(delivery.tokens)
            #expect(try await device.lines().count == 1)
        }
    }

    @Test("Each type has its own position, even a type without rows")
    func types() async throws {
        try await run { server, device, delivery in
            let steps = delivery.tokens.filter { $0.place.type.name == "Step" }
            #expect(steps.count == 1)
            try await device.acknowledge(steps)
            #expect(try await device.delivery().items.count == 3)
            #expect(try await device.delivery().tokens.filter { $0.place.type.name == "Step" } == [])
        }
    }

    @Test("An older ack after a newer one does not move the position back")
    func order() async throws {
        try await run { server, device, delivery in
            let recipes = delivery.tokens.filter { $0.place.type.name == "Recipe" }
            try await device.acknowledge([recipes[2]])
            try await device.acknowledge([recipes[0]])
            #expect(try await device.delivery().items == [])
        }
    }

    @Test("An ack from before a reset is ignored")
    func epoch() async throws {
        try await run { server, device, delivery in
            let reset = try await device.delivery(resets: true)
            #expect(reset.controls == ["SyncResetV1"] && reset.items == [])
            try await device.acknowledge(reset.tokens)
            try await device.acknowledge(delivery.tokens)
            let anew = try await device.delivery()
            #expect(anew.items.count == 3 && anew.tokens.allSatisfy { $0.epoch == 2 })
        }
    }

    @Test("An ack beyond the head is not recorded and triggers a reset for a history change")
    func beyond() async throws {
        try await run { server, device, delivery in
            let token = try #require(delivery.tokens.first { $0.place.type.name == "Recipe" })
            let far = try #require(SyncPosition("ffffffff-ffff-7fff-bfff-ffffffffffff"))
            #expect(
                try await status(device, number: 1, tokens: [SyncToken(token.place, position: far, epoch: 1)]) == 204)
            #expect(try await device.lines().first?.contains(#""reason":"history""#) == true)
            #expect(try await server.text("SELECT count(*) || '' FROM sync_checkpoint WHERE position <> ''") == "0")
        }
    }

    @Test(
        "A malformed token is refused",
        arguments: ["", "x", "RecipeV2|account/a|zz|1", "RecipeV2|account/a||-1", "RecipeV0|account/a||1", "a|b|c|d|e"])
    func malformed(_ text: String) async throws {
        try await run { (server, device, _) async throws in
            let body = Data(#"{"batch":1,"id":"x","acks":["\#(text)"]}"#.utf8)
            #expect(await device.service.acknowledge(body, token: device.token).status == 400)
        }
    }

    @Test("Acks for another account's scope or from another device have no effect")
    func others() async throws {
        try await run { server, device, delivery in
            let bob = try await server.device(of: "bob")
            try await bob.acknowledge(delivery.tokens)
            let second = try await server.device()
            try await second.acknowledge(delivery.tokens)
            #expect(try await device.delivery().items.count == 3)
            #expect(try await second.delivery().items == [])
        }
    }

    @Test("A batch has at most 1,000 acks")
    func limit() async throws {
        try await run { server, device, delivery in
            let token = try #require(delivery.tokens.first)
            #expect(try await status(device, number: 1, tokens: Array(repeating: token, count: 1_000)) == 204)
            #expect(try await status(device, number: 2, tokens: Array(repeating: token, count: 1_001)) == 400)
        }
    }

    @Test("A repeated ack batch has no further effect")
    func twice() async throws {
        try await run { server, device, delivery in
            let batch = SyncAckBatch(number: 1, id: "a", tokens: delivery.tokens.suffix(3))
            for _ in 1...2 { _ = try await device.lines(acks: batch) }
            #expect(try await status(device, number: 1, tokens: batch.tokens, id: "a") == 204)
            #expect(try await status(device, number: 2, tokens: [], id: "b") == 204)
        }
    }

    @Test(
        "An ack batch with an unexpected number triggers a reset with the reason",
        arguments: [(1, "copy"), (9, "history")])
    func copies(_ number: Int64, reason: String) async throws {
        try await run { server, device, delivery in
            for _ in 1...2 { try await device.acknowledge(delivery.tokens) }
            #expect(try await status(device, number: number, tokens: [], id: "other") == 204)
            let lines = try await device.lines()
            #expect(lines.count == 1 && lines[0].contains(#""type":"SyncResetV1""#))
            #expect(lines[0].contains(#""reason":"\#(reason)""#))
        }
    }

    @Test("An older copy of a device is detected by its next stream without acks")
    func silentCopy() async throws {
        try await run { server, device, delivery in
            let none = SyncAckBatch(number: 0, id: "none", tokens: [])
            #expect(try await device.lines(acks: none).count > 1)
            try await device.acknowledge(delivery.tokens)
            let older = try await device.lines(acks: none)
            #expect(older.count == 1 && older[0].contains(#""reason":"copy""#))
        }
    }

    @Test("A device that acknowledges no lost scope keeps a limited number of checkpoints")
    func lostScopes() async throws {
        try await SharingServer.run { server in
            let (ann, bob) = (try await server.person("ann"), try await server.person("bob"))
            try await ann.album("x")
            try await bob.sync()
            let session = try #require(try await server.service.sessions(account: "bob").first).id
            let limit = CheckpointTable.limit(types: SharingServer.types.count)
            // The device has six checkpoints of its own scope. There is room for two more.
            try await server.execute(
                """
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < \(limit - 8))
                INSERT INTO sync_checkpoint (sessionID, scopeID, typeName, position)
                SELECT '\(session)', 'album/lost' || i, 'FileV1', '' FROM n
                """)
            try await ann.share("x", other: bob)
            let mine = "sessionID = '\(session)'"
            let delivery = try await bob.device.delivery(types: SharingServer.types)
            #expect(delivery.controls.count { $0 == "ScopeDeleteV1" } == limit - 8)
            #expect(delivery.items == ["Album x", "AlbumUser x-bob"])
            #expect(try await server.count("sync_checkpoint", where: mine) == limit)
            let scope = try #require(SyncScope("album/x"))
            try await bob.device.acknowledge(delivery.tokens.filter { $0.place.scope == scope })
            #expect(try await server.count("sync_checkpoint", where: mine) == limit)
            // The acks of the lost scopes make room.
            try await bob.device.acknowledge(delivery.tokens.filter { $0.place.scope != scope })
            #expect(try await server.count("sync_checkpoint", where: mine) == 8)
            try await bob.sync()
            #expect(try await server.count("sync_checkpoint", where: mine) == 10)
            #expect(try await bob.sync() == [])
        }
    }

    @Test("Deleting a session deletes its checkpoints")
    func ended() async throws {
        try await run { server, device, delivery in
            try await device.acknowledge(delivery.tokens)
            try await server.execute("DELETE FROM sync_session")
            #expect(try await server.text("SELECT count(*) || '' FROM sync_checkpoint") == "0")
            #expect(await device.service.stream(Data(), token: device.token).status == 401)
        }
    }
}
