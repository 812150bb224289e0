import Foundation
import LFSWire
import Logging
import TestSupport
import Testing

@testable import LFSSyncServer

@Suite("Upgrades of the server's store", .timeLimit(.minutes(10)))
struct UpgradeTests {
    private static let title = SyncSchema.Column("title", kind: .text, isRequired: true)
    private static let old = SyncSchema(tables: [.init("recipe", columns: [title])])
    private static let new = SyncSchema(tables: [
        .init("recipe", columns: [title, .init("note", kind: .text, since: 2)]),
        .init("step", columns: [.init("text", kind: .text)]),
    ])

    private func run(_ body: (_ database: SQLiteDatabase) async throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            let database = try SQLiteDatabase(path: folder.appending(path: "sync.sqlite").path)
            try await body(database)
            await database.close()
        }
    }

    private func store(
        _ database: any SQLDatabase, schema: SyncSchema = Self.old, version: StoreVersion = .current
    ) throws -> SyncStore {
        try SyncStore(database, schema: schema, version: version, logger: Logger(label: "test"))
    }

    /// Starts a server on the store.
    private func serve(
        _ database: any SQLDatabase, schema: SyncSchema = Self.old, version: StoreVersion = .current
    ) async throws -> TestServer {
        let service = try await SyncService(
            database, schema: schema, options: SyncServiceOptions(), logger: Logger(label: "test"), times: LiveTimes(),
            version: version)
        return TestServer(database: database, service: service)
    }

    private func put(_ number: Int, on device: TestDevice) async throws {
        let result = try await device.put("RecipeV1", key: "r\(number)", values: ["title": .text("Soup")])
        #expect(result.outcome.isApplied, "\(result)")
    }

    /// Returns the version of the store and the one of the oldest server.
    private func versions(_ server: TestServer) async throws -> String? {
        try await server.text("SELECT schemaVersion || ' ' || oldestVersion FROM sync_state")
    }

    private func shape(_ database: any SQLDatabase) async throws -> [SchemaObject.Name: String] {
        try await database.read { try SchemaCatalog.objects($0) }
    }

    @Test("A new store is for servers of its own version and newer")
    func fresh() async throws {
        try await run { database in
            let server = try await serve(database)
            #expect(try await versions(server) == "\(ServerTables.version) \(ServerTables.oldestVersion)")
        }
    }

    @Test("An older server uses a store that a newer one has extended as it is")
    func older() async throws {
        try await run { database in
            let device = try await serve(database).device()
            try await put(1, on: device)
            let newer = try await serve(database, version: .next(.sqlite))
            let extended = "\(ServerTables.version + 1) \(ServerTables.version)"
            #expect(try await versions(newer) == extended)
            let before = try await shape(database)
            let older = try await serve(database)
            #expect(try await store(database).pending() == [])
            #expect(try await versions(older) == extended)
            #expect(try await shape(database) == before)
            let again = TestDevice(service: older.service, token: device.token)
            again.sequence = device.sequence
            try await put(2, on: again)
            #expect(try await store(database, version: .next(.sqlite)).migrate() == [])
            // A row of the older server has the default of the new column.
            #expect(try await newer.count("sync_mutation", where: "createdAt = 0") == 1)
        }
    }

    @Test("The steps of a newer server are recorded and not repeated")
    func steps() async throws {
        try await run { database in
            let device = try await serve(database).device()
            for number in 1...5 { try await put(number, on: device) }
            let watched = WatchedDatabase(database)
            let newer = try store(watched, version: .next(.sqlite, batchSize: 2))
            #expect(try await newer.pending().count == 3)
            let statements = try await newer.migrate()
            #expect(statements.count == 3 && statements[1].hasPrefix("CREATE INDEX"))
            // Two full batches, one with the last row, and one without rows.
            #expect(watched.statements.count { $0.hasPrefix("UPDATE sync_mutation SET createdAt") } == 4)
            let state = try await database.read { try SchemaTable.state($0, version: .next(.sqlite)) }
            #expect(state?.objects[StoreVersion.nextIndex]?.source == "")
            watched.clear()
            #expect(try await newer.pending() == [])
            #expect(try await newer.migrate() == [])
            #expect(!watched.statements.contains { $0.hasPrefix("UPDATE sync_mutation SET createdAt") })
        }
    }

    @Test("A store that needs a newer server is refused with the versions and advice")
    func tooOld() async throws {
        try await run { database in
            _ = try await serve(database, version: .next(.sqlite))
            _ = try await serve(database)
            let newest = try await serve(database, version: .afterNext(.sqlite))
            let version = ServerTables.version
            #expect(try await versions(newest) == "\(version + 2) \(version + 1)")
            let error = await #expect(throws: SyncStoreError.self) { try await serve(database) }
            #expect(error?.code == .newerServer)
            let message = error?.description ?? ""
            #expect(message.contains("version \(version + 2)") && message.contains("version \(version)."))
            #expect(message.contains("Use the newer server") && message.contains("restore a backup"))
            _ = try await serve(database, version: .next(.sqlite))
        }
    }

    @Test("A server with the schema before the last change uses the store as it is")
    func earlierSchema() async throws {
        try await run { database in
            let device = try await serve(database).device()
            try await put(1, on: device)
            let newer = try await serve(database, schema: Self.new)
            let before = try await shape(database)
            for _ in 1...2 {
                let older = try await serve(database)
                #expect(try await store(database).pending() == [])
                let again = TestDevice(service: older.service, token: device.token)
                again.sequence = device.sequence
                try await put(2, on: again)
                device.sequence = again.sequence
                #expect(try await store(database, schema: Self.new).migrate() == [])
                #expect(try await shape(database) == before)
            }
            let type = try #require(SyncType("RecipeV2"))
            let rows = try await newer.device().delivery(types: [type]).rows
            #expect(rows.count == 2 && rows.allSatisfy { $0["note"] == .null })
        }
    }

    @Test("An older server with the schema before the last change can start again")
    func both() async throws {
        try await run { database in
            let device = try await serve(database).device()
            _ = try await serve(database, schema: Self.new, version: .next(.sqlite))
            let older = try await serve(database)
            try await put(1, on: TestDevice(service: older.service, token: device.token))
            // It cannot add to the tables of the newer server.
            var other = Self.new
            other.tables[1].columns.append(.init("more", kind: .text, since: 3))
            let error = await #expect(throws: SyncStoreError.self) { try await serve(database, schema: other) }
            #expect(error?.code == .destructive && error?.description.contains("use a newer server") == true)
        }
    }

    @Test("A schema that the store never had is refused after another change")
    func unknownSchema() async throws {
        try await run { database in
            _ = try await serve(database)
            _ = try await serve(database, schema: Self.new)
            let error = await #expect(throws: SyncStoreError.self) {
                try await serve(database, schema: SyncSchema())
            }
            #expect(error?.code == .destructive)
        }
    }

    @Test("The schema before a change of the sharing rules is refused")
    func sharing() async throws {
        try await run { database in
            var alone = SharingServer.schema
            alone.containers = []
            alone.partners = nil
            _ = try await serve(database, schema: alone)
            _ = try await serve(database, schema: SharingServer.schema)
            let error = await #expect(throws: SyncStoreError.self) { try await serve(database, schema: alone) }
            #expect(error?.code == .destructive)
        }
    }
}
