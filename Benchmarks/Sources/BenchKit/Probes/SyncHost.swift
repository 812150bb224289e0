import GRDB
import LFS
import LFSSync

/// The database of an app whose notes are synced between devices.
enum SyncHost {
    /// The columns and the index of a note, which are the same in the rival's database.
    static let creation = """
        CREATE TABLE note (
            id TEXT PRIMARY KEY NOT NULL, title TEXT NOT NULL, body TEXT NOT NULL, createdAt TEXT NOT NULL,
            rating INTEGER NOT NULL
        );
        CREATE INDEX note_createdAt ON note(createdAt);
        """
    static let columns = "id, title, body, createdAt, rating"

    /// The accounts whose rows an account may also read, for `--partners`.
    static let partners = "partner:sharedByID:sharedWithID"

    /// Opens a device's database in a folder, and creates it if necessary.
    static func open(
        in folder: String, name: String = "device.sqlite", hasPartners: Bool = false
    ) throws -> DatabasePool {
        let pool = try DatabasePool(path: "\(folder)/\(name)")
        var migrator = DatabaseMigrator()
        migrator.registerLFSMigrations()
        migrator.registerLFSSyncMigrations()
        migrator.registerMigration("notes") { db in
            try db.execute(sql: creation)
            try SyncedTable.install("note", in: db)
        }
        if hasPartners {
            migrator.registerMigration("partners") { db in
                try db.execute(
                    sql: """
                        CREATE TABLE partner (
                            id TEXT PRIMARY KEY NOT NULL, sharedByID TEXT NOT NULL, sharedWithID TEXT NOT NULL
                        )
                        """)
                try SyncedTable.install("partner", in: db)
            }
        }
        try migrator.migrate(pool)
        return pool
    }

    /// Opens a database with the same table without sync.
    static func openPlain(in folder: String) throws -> DatabasePool {
        let pool = try DatabasePool(path: "\(folder)/plain.sqlite")
        try pool.write { try $0.execute(sql: creation) }
        return pool
    }

    static func count(_ pool: DatabasePool) throws -> Int {
        try pool.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM note") ?? 0 }
    }
}
