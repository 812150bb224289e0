import Foundation
import TestSupport
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("Costs of streams for a SQLite file", .timeLimit(.minutes(10)))
struct StoreBoundTests {
    private func run(_ body: (TestServer, _ path: String) async throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appending(path: "sync.sqlite").path
            let database = try SQLiteDatabase(path: path)
            let service = try await SyncService(database, schema: TestServer.schema)
            try await body(TestServer(database: database, service: service), path)
            await database.close()
        }
    }

    @Test("During a slow stream SQLite still resets its write-ahead log")
    func log() async throws {
        try await run { server, path in
            let device = try await server.device()
            try await server.fill(2_500, bytes: 200)
            var stream = try await device.open()
            _ = try await stream.next()
            let change = "UPDATE recipe SET title = title || 'y' WHERE id < 'r2'"
            func size() throws -> Int {
                try FileManager.default.attributesOfItem(atPath: path + "-wal")[.size] as? Int ?? -1
            }
            for _ in 0..<5 { try await server.execute(change) }
            let before = try size()
            for _ in 0..<20 { try await server.execute(change) }
            // A reader with an open snapshot would keep everything written since.
            #expect(try size() <= before + before / 2)
            var rest = ""
            while let piece = try await stream.next() { rest += String(decoding: piece, as: UTF8.self) }
            #expect(rest.contains("SyncCompleteV1"))
        }
    }

    #if os(Linux)
    @Test("A thousand closed streams leave no file open")
    func descriptors() async throws {
        try await run { server, path in
            let device = try await server.device()
            try await server.fill(10, bytes: 10)
            func count() throws -> Int {
                try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").count { name in
                    let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")
                    return target?.hasPrefix(path) == true
                }
            }
            for number in 0..<1_000 {
                var stream = try await device.open(isLive: number % 2 == 0)
                _ = try await stream.next()
            }
            // At most eight readers and one writer, each with the file, its log and the log's index.
            #expect(try count() <= 3 * 9 && server.service.streamCount == 0)
        }
    }
    #endif
}
