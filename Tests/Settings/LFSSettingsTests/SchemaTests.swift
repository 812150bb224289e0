import Foundation
import GRDB
import LFSSettings
import Testing

@Suite("Schema of settings", .timeLimit(.minutes(10)))
struct SchemaTests {
    @Test("A database of the first version must be migrated and then keeps its values")
    func earlier() async throws {
        let database = try DatabaseQueue()
        var migrator = DatabaseMigrator()
        migrator.registerLFSSettingsMigrations()
        try migrator.migrate(database, upTo: "lfsSettings.v1")
        let key = StorageKey<Int>("one", default: 0, sync: .automatic(maxByteCount: 100))
        try await database.write { db in
            try db.execute(
                sql: """
                    INSERT INTO lfs_setting (name, value, serializer, version, updateID, updatedAt)
                    VALUES ('one', CAST('7' AS BLOB), 'json', 1, '017f22e2-79b0-7cc3-98c4-dc0c0c07398f', 1)
                    """)
        }
        await expectFailure(.notMigrated) {
            _ = try await StorageRouter.open(database, catalogs: [StorageCatalog("app") { key }])
        }
        try migrator.migrate(database)
        let storage = try await StorageRouter.open(database, catalogs: [StorageCatalog("app") { key }])
        #expect(try await storage.get(key) == 7)
        try await storage.set(8, for: key)
        #expect(try await storage.get(key) == 8)
    }
}
