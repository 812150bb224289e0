import Crypto
import Foundation
import GRDB
import LFSSettings

/// An app with settings, and with a similar table that it reads and writes directly.
struct SettingsHost {
    let pool: DatabasePool
    let router: StorageRouter

    /// Opens the database.
    ///
    /// - Parameters:
    ///   - folder: the folder of the database.
    ///   - name: the name of the database file.
    ///   - isFull: true to sync each commit.
    static func open(in folder: String, _ name: String = "app", isFull: Bool = false) async throws -> SettingsHost {
        let pool = try DatabasePool(path: "\(folder)/\(name).sqlite")
        if isFull { try HostDatabase.syncEachCommit(pool) }
        var migrator = DatabaseMigrator()
        migrator.registerLFSSettingsMigrations()
        migrator.registerMigration("rival") { db in try db.execute(sql: tables) }
        try migrator.migrate(pool)
        let host = SettingsHost(pool: pool, router: try await openRouter(pool))
        try await host.fill()
        return host
    }

    static func openRouter(_ pool: DatabasePool) async throws -> StorageRouter {
        let root = SymmetricKey(data: Data(repeating: 7, count: 32))
        return try await StorageRouter.open(
            pool, catalogs: [catalog],
            options: StorageOptions(rootKey: .custom(load: { root }, store: { _ in })))
    }

    private func fill() async throws {
        try await router.write { batch in for (index, key) in Self.keys.enumerated() { try batch.set(index, for: key) }
        }
        try await pool.write { db in for index in 0..<Self.count { try Self.put(index, value: index, db) } }
    }

    // MARK: Keys

    static let count = 1_000
    static let keys = (0..<count).map { StorageKey<Int>("key.\($0)") }
    static let names = (0..<count).map { "key.\($0)" }
    static let durable = StorageKey<Int>("durable", domain: .database(durability: .full))
    static let plain = StorageKey<Data>("plain", serializer: .data)
    static let encrypted = StorageKey<Data>("encrypted", security: .encrypted, serializer: .data)
    static let file = StorageKey<Data>("file", domain: .file(), serializer: .data)
    private static let catalog = StorageCatalog("bench") {
        for key in keys { key }
        durable
        plain
        encrypted
        file
    }

    // MARK: The app's own table

    static func get(_ index: Int, _ db: Database) throws -> Int? {
        let statement = try db.cachedStatement(sql: "SELECT value FROM rival WHERE name = ?")
        guard let bytes = try Data.fetchOne(statement, arguments: [names[index]]) else { return nil }
        return try JSONDecoder().decode(Int.self, from: bytes)
    }

    static func put(_ index: Int, value: Int, _ db: Database) throws {
        let statement = try db.cachedStatement(
            sql: """
                INSERT INTO rival (name, value, serializer, version, updateID, updatedAt) VALUES (?, ?, 'json', 1, ?, ?)
                ON CONFLICT (name) DO UPDATE SET value = excluded.value, serializer = excluded.serializer,
                    version = excluded.version, updateID = excluded.updateID, updatedAt = excluded.updatedAt
                """)
        try statement.execute(arguments: [
            names[index], try JSONEncoder().encode(value), "019ab0c0-0000-7000-8000-000000000000", value,
        ])
    }

    static func note(_ number: Int, _ db: Database) throws {
        try db.cachedStatement(sql: "INSERT INTO note (text) VALUES (?)").execute(arguments: ["Note \(number)"])
    }

    private static let tables = """
        CREATE TABLE rival (
            name TEXT PRIMARY KEY NOT NULL, value BLOB NOT NULL, serializer TEXT NOT NULL, version INTEGER NOT NULL,
            updateID TEXT NOT NULL, updatedAt INTEGER NOT NULL, isRemoved INTEGER NOT NULL DEFAULT 0
        );
        CREATE TABLE note (id INTEGER PRIMARY KEY, text TEXT NOT NULL);
        """
}
