import Foundation
import Logging
import TestSupport
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("Several processes on one SQLite file", .timeLimit(.minutes(10)))
struct OtherProcessTests {
    @Test("A live stream sees the commits of a process that sends no notices")
    func commits() async throws {
        try await withTemporaryFolder { folder in
            let path = folder.appending(path: "sync.sqlite").path
            let database = try SQLiteDatabase(path: path)
            let service = try await SyncService(
                database, schema: TestServer.schema, options: SyncServiceOptions(), logger: Logger(label: "test"),
                times: LiveTimes(poll: .milliseconds(5), heartbeat: .seconds(86_400)))
            let device = try await TestServer(database: database, service: service).device()
            var stream = try await device.open(isLive: true)
            _ = try await stream.next()
            // Another connection to the file has none of the temporary triggers.
            let other = try SQLiteDatabase(path: path)
            let server = TestServer(database: other, service: service)
            let scope = try await server.scope(of: "ann")
            try await server.execute("INSERT INTO recipe (id, scopeID, title) VALUES ('r1', '\(scope)', 'Soup')")
            #expect(String(decoding: try #require(try await stream.next()), as: UTF8.self).contains("\"id\":\"r1\""))
            await other.close()
            await database.close()
        }
    }
}
