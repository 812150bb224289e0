import Foundation
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("Row changes during a stream", .timeLimit(.minutes(10)))
struct MovingRowTests {
    @Test("A row changed during a stream is sent once with its latest values")
    func changed() async throws {
        try await TestServer.run { server in
            let device = try await server.device()
            let scope = try await server.scope(of: "ann")
            // The rows fill more than two pages, so that the last ones are read later.
            try await server.database.write { db in
                for number in 1_000..<4_000 {
                    try db.execute(
                        "INSERT INTO recipe (id, title, scopeID) VALUES (?1, 'old', ?2)",
                        arguments: [.text("r\(number)"), .text(scope)])
                }
            }
            let request = SyncStreamRequest(types: [[try #require(SyncType("RecipeV2"))]])
            let reply = await device.service.stream(try WireFormat.encode(request), token: device.token)
            guard case .stream(let stream) = reply.body else {
                Issue.record("\(reply)")
                return
            }
            var iterator = stream.makeAsyncIterator()
            var text = String(decoding: try #require(try await iterator.next()), as: UTF8.self)
            #expect(!text.contains("SyncCompleteV1"))
            // A row that was already sent and one that was not.
            try await server.execute("UPDATE recipe SET title = 'new' WHERE id IN ('r1000', 'r3999')")
            while let piece = try await iterator.next() { text += String(decoding: piece, as: UTF8.self) }
            let lines = text.split(separator: "\n").map(String.init)
            #expect(lines.count { $0.contains("\"id\":\"r1000\"") } == 1)
            #expect(lines.count { $0.contains("\"id\":\"r3999\"") } == 0)
            #expect(lines.count { $0.hasPrefix("{\"type\":\"RecipeV2\"") } == 2_999)
            let tokens = try lines.map { line in
                let fields = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
                return try #require((fields?["ack"] as? String).flatMap { SyncToken($0) })
            }
            try await device.acknowledge(tokens)
            let rest = try await device.delivery(types: [try #require(SyncType("RecipeV2"))])
            #expect(rest.items.sorted() == ["Recipe r1000", "Recipe r3999"])
            #expect(rest.rows.allSatisfy { $0.text("title") == "new" })
        }
    }
}
