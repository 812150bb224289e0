import Foundation
import LFSServerPostgres
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("Moves from SQLite to PostgreSQL", .timeLimit(.minutes(10)))
struct MoveTests {
    /// Recipes with values of all kinds, shared albums, and folders that refer to folders.
    private static let schema: SyncSchema = {
        let tables = TestServer.schema.tables.dropFirst() + SharingServer.schema.tables.dropFirst()
        let folder = SyncSchema.Table(
            "folder", columns: [.init("parentID", kind: .text, parent: .init("folder", onDelete: .cascade))])
        return SyncSchema(
            tables: tables + [folder], containers: SharingServer.schema.containers,
            partners: SharingServer.schema.partners)
    }()

    private static let types =
        TestServer.types + SharingServer.types.dropFirst() + ["FolderV1"].compactMap { SyncType($0) }

    /// Runs a body with a SQLite file and an empty schema of PostgreSQL.
    private static func run(_ body: (_ path: String, _ url: String) async throws -> Void) async throws {
        try await TestStore.run { url, _ in
            let folder = FileManager.default.temporaryDirectory.appending(path: "move-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
            try await body(folder.appending(path: "sync.sqlite").path, url)
        }
    }

    private static func serve(_ database: any SQLDatabase) async throws -> TestServer {
        TestServer(database: database, service: try await SyncService(database, schema: schema))
    }

    /// Runs a body with a server on SQLite, and then closes the file.
    private static func served(_ path: String, _ body: (TestServer) async throws -> Void) async throws {
        let database = try SQLiteDatabase(path: path)
        try await body(try await serve(database))
        await database.close()
    }

    /// Returns a device that continues with another server at the same address.
    private static func moved(_ device: TestDevice, to server: TestServer) -> TestDevice {
        let moved = TestDevice(service: server.service, token: device.token)
        moved.batch = device.batch
        moved.sequence = device.sequence
        return moved
    }

    /// Moves the file, and expects an error and an empty target.
    private static func refusal<Failure: Error>(_ path: String, url: String) async throws -> Failure? {
        let database = try PostgresDatabase(url: url, options: .patient)
        let error = await #expect(throws: Failure.self) { try await SyncStore.move(fileAt: path, to: database) }
        let state = try await database.read { try SchemaTable.state($0) }
        #expect(state == nil)
        await database.close()
        return error
    }

    @Test("Devices continue after a move, and no row is lost or sent twice")
    func devices() async throws {
        try await Self.run { path, url in
            var devices: [TestDevice] = []
            var before: [String] = []
            var usage: [AccountUsage] = []
            try await Self.served(path) { server in
                let (ann, bob) = (try await server.person("ann"), try await server.person("bob"))
                devices = [ann.device, try await server.device(), bob.device, try await server.device()]
                let laptop = ann.device
                try await ann.file("f1")
                try await laptop.put(
                    "RecipeV2", key: "r1",
                    values: [
                        "title": .text("So'up\u{1F35C}"), "servings": .integer(.max), "rating": .real(0.1),
                        "image": .blob([0, 255]), "photoID": .text("f1"),
                    ])
                try await laptop.put("RecipeV2", key: "r2", values: ["title": .text("Broth")])
                try await laptop.push(.delete, type: "RecipeV2", key: "r2")
                // The first folder refers to a later one.
                try await laptop.put("FolderV1", key: "a", values: ["parentID": .null])
                try await laptop.put("FolderV1", key: "b", values: ["parentID": .null])
                try await laptop.push(.patch, type: "FolderV1", key: "a", values: ["parentID": .text("b")])
                try await ann.album("x")
                try await ann.share("x", other: bob)
                try await ann.link("x", file: "f1")
                // More than one statement inserts these rows.
                try await server.execute(
                    """
                    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30)
                    INSERT INTO recipe (id, title, scopeID)
                    SELECT 'large' || i, printf('%.*c', 200000, 'x'), '\(await server.scope(of: "ann"))' FROM n
                    """)
                for device in devices.prefix(3) { try await device.sync(types: Self.types) }
                try await laptop.put("RecipeV2", key: "r3", values: ["title": .text("Stew")])
                before = try await devices[3].lines(types: Self.types)
                usage = try await server.service.accounts().map(\.usage)
            }
            let database = try PostgresDatabase(url: url, options: .patient)
            let counts = try await SyncStore.move(fileAt: path, to: database)
            #expect(counts["recipe"] == 32 && counts["sync_session"] == 4 && counts["sync_tombstone"] == 1)
            let server = try await Self.serve(database)
            let all = devices.map { Self.moved($0, to: server) }
            let (laptop, phone, bob) = (all[0], all[1], all[2])
            #expect(try await all[3].lines(types: Self.types) == before)
            #expect(try await server.service.accounts().map(\.usage) == usage)
            #expect(try await server.service.recount() == 0)
            // The reply of the last push was lost, so the device sends it again.
            laptop.sequence -= 1
            let outcome = try await laptop.put("RecipeV2", key: "r3", values: ["title": .text("Stew")]).outcome
            #expect(outcome.isApplied)
            for device in [laptop, phone] { #expect(try await device.sync(types: Self.types) == ["Recipe r3"]) }
            #expect(try await bob.sync(types: Self.types) == [])
            try await phone.put("RecipeV2", key: "r4", values: ["title": .text("Curry")])
            try await phone.push(.delete, type: "FolderV1", key: "b")
            try await phone.push(.patch, type: "FileV1", key: "f1", values: ["name": .text("renamed")])
            let changes: Set = ["File f1", "Recipe r4", "-Folder a", "-Folder b"]
            for device in [laptop, phone] { #expect(try await Set(device.sync(types: Self.types)) == changes) }
            #expect(try await bob.sync(types: Self.types) == ["File f1"])
            for device in [laptop, phone, bob] { #expect(try await device.sync(types: Self.types) == []) }
            await database.close()
        }
    }

    @Test("A target with tables is refused and not changed")
    func notEmpty() async throws {
        try await Self.run { path, url in
            try await Self.served(path) { _ = try await $0.device() }
            let database = try PostgresDatabase(url: url, options: .patient)
            try await database.write { try $0.run(script: "CREATE TABLE other (id TEXT)") }
            let error: SyncStoreError? = try await Self.refusal(path, url: url)
            #expect(error?.code == .notEmpty && error?.description.contains("other") == true)
            let names = try await database.read { try SchemaCatalog.objects($0).keys.map(\.name) }
            #expect(names == ["other"])
            await database.close()
        }
    }

    @Test("A file that a server has open is refused")
    func inUse() async throws {
        try await Self.run { path, url in
            try await Self.served(path) { server in
                _ = try await server.device()
                let error: SyncStoreError? = try await Self.refusal(path, url: url)
                #expect(error?.code == .inUse)
            }
            let database = try PostgresDatabase(url: url, options: .patient)
            let counts = try await SyncStore.move(fileAt: path, to: database)
            #expect(counts["sync_session"] == 1)
            await database.close()
        }
    }

    @Test("A damaged file is refused")
    func damaged() async throws {
        try await Self.run { path, url in
            try await Self.served(path) { server in
                let device = try await server.device()
                for number in 1...300 {
                    try await device.put("RecipeV2", key: "r\(number)", values: ["title": .text("Soup")])
                }
            }
            // The pages of the write-ahead log move into the file when it is closed without readers.
            await (try SQLiteDatabase(path: path)).close()
            let file = try FileHandle(forUpdating: URL(filePath: path))
            try file.seek(toOffset: try file.seekToEnd() - 32_768)
            try file.write(contentsOf: Data(repeating: 0xFF, count: 32_768))
            try file.close()
            let error: SyncStoreError? = try await Self.refusal(path, url: url)
            #expect(error?.code == .damaged)
        }
    }

    @Test("A value that PostgreSQL does not accept fails the move with the table's name")
    func value() async throws {
        try await Self.run { path, url in
            try await Self.served(path) { server in
                try await server.device().put("RecipeV2", key: "r1", values: ["title": .text("Soup")])
                try await server.execute("UPDATE recipe SET title = 'a' || char(0)")
            }
            let error: SQLFailure? = try await Self.refusal(path, url: url)
            #expect(error?.message.hasPrefix("The table 'recipe' cannot be copied. A text has a NUL") == true)
        }
    }

    @Test("The file of an earlier server is refused with the command that updates it")
    func outdated() async throws {
        try await Self.run { path, url in
            try await Self.served(path) { server in
                _ = try await server.device()
                // Simulates the definitions of an older server.
                try await server.execute("UPDATE sync_object SET source = source || ' -- older' WHERE source <> ''")
            }
            let error: SyncStoreError? = try await Self.refusal(path, url: url)
            #expect(error?.code == .outdated && error?.description.contains("schema migrate") == true)
        }
    }
}
