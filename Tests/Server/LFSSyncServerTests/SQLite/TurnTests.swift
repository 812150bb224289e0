import Foundation
import LFSSystem
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("Turns of accounts", .timeLimit(.minutes(10)))
struct TurnTests {
    private static func body(_ title: String) throws -> Data {
        let mutation = SyncMutation(
            id: "m1", sequence: 1, type: try #require(SyncType("RecipeV2")), operation: .put, key: title,
            row: SyncRow(["title": .text(title)]))
        var bytes: [UInt8] = []
        mutation.write(to: &bytes)
        return Data(bytes)
    }

    @Test("An account's pushes, digests and acks take turns, and others do not wait")
    func turns() async throws {
        try await TestServer.run { server in
            let (ann, bob) = (try await server.device(), try await server.device(of: "bob"))
            let service = server.service
            let account = try #require(try await service.account(named: "ann"))
            let digest = try WireFormat.encode(SyncStreamRequest(types: TestServer.types.map { [$0] }))
            let (soup, cake) = (try Self.body("Soup"), try Self.body("Cake"))
            let ack = try WireFormat.encode(SyncAckBatch(number: 1, id: "batch 1", tokens: []))
            let (token, other) = (ann.token, bob.token)
            let gate = Latch()
            try await withThrowingTaskGroup(of: Void.self) { tasks in
                tasks.addTask { try await service.turns.withTurn(account) { await gate.wait() } }
                while service.turns.keyCount == 0 { await Task.yield() }
                tasks.addTask { #expect(await service.push(soup, token: token).status == 200) }
                tasks.addTask { #expect(await service.digest(digest, token: token).status == 200) }
                tasks.addTask { #expect(await service.acknowledge(ack, token: token).status == 204) }
                tasks.addTask { #expect(await service.forget(Data(), token: token).status == 204) }
                while service.turns.waiterCount(account) < 4 { await Task.yield() }
                #expect(await service.push(cake, token: other).status == 200)
                let titles = try await server.text("SELECT group_concat(title) FROM recipe")
                #expect(titles == "Cake")
                gate.open()
                try await tasks.waitForAll()
            }
            #expect(try await server.count("recipe") == 2)
        }
    }
}
