import Foundation
import LFSServerPostgres
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("Restored dumps of PostgreSQL", .timeLimit(.minutes(10)))
struct RestoreTests {
    private static func titled(_ title: String) -> [String: SyncValue] { ["title": .text(title)] }

    /// Returns a line of the device's next stream, which claims the last batch of the device.
    private static func line(_ device: TestDevice, service: SyncService) async throws -> String? {
        let there = TestDevice(service: service, token: device.token)
        let last = SyncAckBatch(number: device.batch, id: "batch \(device.batch)", tokens: [])
        return try await there.lines(acks: last).first
    }

    @Test("A dump restored in the same cluster is noticed by the mark and by a batch")
    func sameCluster() async throws {
        try await PostgresCase.run { run in
            let endpoint = try #require(TestStore.endpoint)
            let dump = FileManager.default.temporaryDirectory.appending(path: "\(run.schema).sql")
            defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: dump) } }
            let (reader, idle) = (try await run.server.device(), try await run.server.device())
            let writer = try await run.server.device()
            try await writer.put("RecipeV2", key: "r1", values: Self.titled("Soup"))
            try await reader.sync()
            try await idle.sync()
            let first = try await run.server.service.compareHistory(with: nil).mark
            try PostgresTool.dump(run.schema, to: dump)
            try await writer.put("RecipeV2", key: "r2", values: Self.titled("Broth"))
            #expect(try await reader.sync() == ["Recipe r2"])
            let last = try await run.server.service.compareHistory(with: first).mark
            try await run.server.execute("DROP SCHEMA \(run.schema) CASCADE")
            try PostgresTool.run(
                "psql", arguments: ["--quiet", "--set", "ON_ERROR_STOP=1", "--file", dump.path, endpoint])
            let database = try TestStore.database(run.url)
            let service = try await SyncService(database, schema: TestServer.schema)
            #expect(try await TestServer(database: database, service: service).count("recipe") == 1)
            // The reader's own batch shows the gap before anything else does.
            #expect(try await Self.line(reader, service: service)?.contains("\"reason\":\"history\"") == true)
            #expect(try await Self.line(idle, service: service)?.contains("SyncResetV1") == false)
            #expect(try await service.compareHistory(with: last).wasRestored)
            #expect(try await Self.line(idle, service: service)?.contains("\"reason\":\"history\"") == true)
            await database.close()
        }
    }

    @Test("A dump restored in another cluster is noticed without a mark")
    func otherCluster() async throws {
        try await PostgresCase.run { run in
            let dump = FileManager.default.temporaryDirectory.appending(path: "\(run.schema).sql")
            defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: dump) } }
            let device = try await run.server.device()
            try await device.sync()
            _ = try await run.server.service.compareHistory(with: nil)
            try PostgresTool.dump(run.schema, to: dump)
            try await OtherCluster.run { url in
                try PostgresTool.run(
                    "psql", arguments: ["--quiet", "--set", "ON_ERROR_STOP=1", "--file", dump.path, url])
                let database = try PostgresDatabase(
                    url: "\(url)?options=-csearch_path%3D\(run.schema)", options: .patient)
                let service = try await SyncService(database, schema: TestServer.schema)
                let found = try await service.compareHistory(with: nil)
                #expect(found.wasRestored)
                #expect(try await !service.compareHistory(with: found.mark).wasRestored)
                #expect(try await Self.line(device, service: service)?.contains("\"reason\":\"history\"") == true)
                await database.close()
            }
        }
    }
}
