import Foundation
import Synchronization
import TestSupport
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("Lagging replicas", .timeLimit(.minutes(10)))
struct ReplicaTests {
    /// A database whose reads can be switched to a replica. The mutex owns the choice.
    private final class Pair: SQLDatabase {
        let primary: SQLiteDatabase
        private let replica = Mutex<SQLiteDatabase?>(nil)

        init(_ primary: SQLiteDatabase) { self.primary = primary }

        var dialect: SQLDialect { .sqlite }

        func use(_ database: SQLiteDatabase?) { replica.withLock { $0 = database } }

        func read<Value: Sendable>(
            _ body: @escaping @Sendable (any SQLConnection) throws -> Value
        ) async throws -> Value {
            try await (replica.withLock { $0 } ?? primary).read(body)
        }

        func write<Value: Sendable>(
            _ body: @escaping @Sendable (any SQLConnection) throws -> Value
        ) async throws -> Value { try await primary.write(body) }

        func maintain<Value: Sendable>(
            _ body: @escaping @Sendable (any SQLConnection) throws -> Value
        ) async throws -> Value? { try await primary.maintain(body) }

        func observe(_ receive: @escaping @Sendable ([ServerNotice]) -> Void) -> ServerLink? {
            primary.observe(receive)
        }

        func close() async { await primary.close() }
    }

    @Test("A stream that reads a lagging replica ends without claiming completeness")
    func lagging() async throws {
        try await withTemporaryFolder { folder in
            let paths = ["one", "two"].map { folder.appending(path: "\($0).sqlite").path }
            let pair = Pair(try SQLiteDatabase(path: paths[0]))
            let service = try await SyncService(pair, schema: TestServer.schema)
            let server = TestServer(database: pair, service: service)
            let device = try await server.device()
            try await device.put("RecipeV2", key: "r1", values: ["title": .text("Soup")])
            // The copy simulates a replica that has received no later changes.
            for end in ["", "-wal"] { try FileManager.default.copyItem(atPath: paths[0] + end, toPath: paths[1] + end) }
            try await device.put("RecipeV2", key: "r2", values: ["title": .text("Stew")])
            var stream = try await device.open()
            let replica = try SQLiteDatabase(path: paths[1])
            pair.use(replica)
            var text = ""
            while let piece = try await stream.next() { text += String(decoding: piece, as: UTF8.self) }
            #expect(!text.contains("SyncCompleteV1") && !text.contains("RecipeV2|"))
            #expect(text.contains(#""code":"unavailable""#) && text.contains(#""isRetryable":true"#))
            pair.use(nil)
            #expect(try await device.sync() == ["Recipe r1", "Recipe r2"])
            for database in [replica, pair.primary] { await database.close() }
        }
    }
}
