import Foundation
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("F: checkpoints and acks", .timeLimit(.minutes(10)))
struct AckTests {
    /// A device with three recipes of which it has nothing yet, and what a stream brings it.
    private func run(_ body: (TestServer, TestDevice, TestDevice.Delivery) async throws -> Void) async throws {
        try await TestServer.run { server in
            let device = try await server.device()
            for number in 1...3 { try await device.put("RecipeV2", "r\(number)", ["title": .text("Soup")]) }
            try await body(server, device, try await device.delivery())
        }
    }

    private func status(_ device: TestDevice, _ number: Int64, _ tokens: [SyncToken], id: String = "x") async throws
        -> Int
    {
        let body = SyncAckBatch(number: number, id: id, tokens: tokens)
        return await device.service.acknowledge(try WireFormat.encode(body), token: device.token).status
    }

    @Test("1 without an ack all comes again; 2 with all of them only the end; 3 with some of them the rest")
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

    @Test("4 an ack of a later type says nothing of an earlier one; 21 a type without rows has a position as well")
    func types() async throws {
        try await run { server, device, delivery in
            let steps = delivery.tokens.filter { $0.place.type.name == "Step" }
            #expect(steps.count == 1)
            try await device.acknowledge(steps)
            #expect(try await device.delivery().items.count == 3)
            #expect(try await device.delivery().tokens.filter { $0.place.type.name == "Step" } == [])
        }
    }

    @Test("5, 6 an older ack after a newer one takes nothing back")
    func order() async throws {
        try await run { server, device, delivery in
            let recipes = delivery.tokens.filter { $0.place.type.name == "Recipe" }
            try await device.acknowledge([recipes[2]])
            try await device.acknowledge([recipes[0]])
            #expect(try await device.delivery().items == [])
        }
    }

    @Test("7 an ack from before a reset says nothing")
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

    @Test("8 an ack beyond the head is not taken: it tells of an older server")
    func beyond() async throws {
        try await run { server, device, delivery in
            let token = try #require(delivery.tokens.first { $0.place.type.name == "Recipe" })
            let far = try #require(SyncPosition("ffffffff-ffff-7fff-bfff-ffffffffffff"))
            #expect(try await status(device, 1, [SyncToken(token.place, far, epoch: 1)]) == 204)
            #expect(try await device.lines().first?.contains(#""reason":"history""#) == true)
            #expect(try await server.text("SELECT count(*) || '' FROM sync_checkpoint WHERE position <> ''") == "0")
        }
    }

    @Test(
        "9 what is no token is refused",
        arguments: ["", "x", "RecipeV2|account/a|zz|1", "RecipeV2|account/a||-1", "RecipeV0|account/a||1", "a|b|c|d|e"])
    func malformed(_ text: String) async throws {
        try await run { (server, device, _) async throws in
            let body = Data(#"{"batch":1,"id":"x","acks":["\#(text)"]}"#.utf8)
            #expect(await device.service.acknowledge(body, token: device.token).status == 400)
        }
    }

    @Test("10 a token of another account's scope says nothing; 22 two devices' acks do not mix")
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

    @Test("11 a batch has at most 1,000 acks")
    func limit() async throws {
        try await run { server, device, delivery in
            let token = try #require(delivery.tokens.first)
            #expect(try await status(device, 1, Array(repeating: token, count: 1_000)) == 204)
            #expect(try await status(device, 2, Array(repeating: token, count: 1_001)) == 400)
        }
    }

    @Test("12 the same batch twice is the same as once; 15 it may come with the next stream")
    func twice() async throws {
        try await run { server, device, delivery in
            let batch = SyncAckBatch(number: 1, id: "a", tokens: delivery.tokens.suffix(3))
            for _ in 1...2 { _ = try await device.lines(acks: batch) }
            #expect(try await status(device, 1, batch.tokens, id: "a") == 204)
            #expect(try await status(device, 2, [], id: "b") == 204)
        }
    }

    @Test(
        "13 a batch that came before tells of an older copy of the device; 14 one too many, of an older server",
        arguments: [(1, "copy"), (9, "history")])
    func copies(_ number: Int64, _ reason: String) async throws {
        try await run { server, device, delivery in
            for _ in 1...2 { try await device.acknowledge(delivery.tokens) }
            #expect(try await status(device, number, [], id: "other") == 204)
            let lines = try await device.lines()
            #expect(lines.count == 1 && lines[0].contains(#""type":"SyncResetV1""#))
            #expect(lines[0].contains(#""reason":"\#(reason)""#))
        }
    }

    @Test("13 an older copy shows with its next stream, also when it has nothing to say")
    func silentCopy() async throws {
        try await run { server, device, delivery in
            let none = SyncAckBatch(number: 0, id: "none", tokens: [])
            #expect(try await device.lines(acks: none).count > 1)
            try await device.acknowledge(delivery.tokens)
            let older = try await device.lines(acks: none)
            #expect(older.count == 1 && older[0].contains(#""reason":"copy""#))
        }
    }

    @Test("20 with a session its checkpoints go")
    func ended() async throws {
        try await run { server, device, delivery in
            try await device.acknowledge(delivery.tokens)
            try await server.execute("DELETE FROM sync_session")
            #expect(try await server.text("SELECT count(*) || '' FROM sync_checkpoint") == "0")
            #expect(await device.service.stream(Data(), token: device.token).status == 401)
        }
    }
}
