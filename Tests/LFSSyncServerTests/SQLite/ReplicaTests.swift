import Foundation
import Synchronization
import TestSupport
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("A database that lags behind another one", .timeLimit(.minutes(10)))
struct ReplicaTests {
    /// A database whose reads another one answers from some moment on. Owner of which: the mutex.
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

        func close() async { await primary.close() }
    }

    @Test("sends no page of a plan that it does not know: the stream does not claim to be whole")
    func lagging() async throws {
        try await withTemporaryFolder { folder in
            let paths = ["one", "two"].map { folder.appending(path: "\($0).sqlite").path }
            let pair = Pair(try SQLiteDatabase(path: paths[0]))
            let service = try await SyncService(pair, schema: TestServer.schema)
            let server = TestServer(database: pair, service: service)
            let device = try await server.device()
            try await device.put("RecipeV2", "r1", ["title": .text("Soup")])
            // As a replica that has heard of nothing since.
            for end in ["", "-wal"] { try FileManager.default.copyItem(atPath: paths[0] + end, toPath: paths[1] + end) }
            try await device.put("RecipeV2", "r2", ["title": .text("Stew")])
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
