import GRDB

/// `lfs_setting_folder`: the folders that were used before. It distinguishes a missing folder from a new one.
enum FolderTable {
    static func all(_ db: Database) throws -> [String] {
        try DatabaseValue.fetchAll(db, sql: "SELECT folder FROM main.lfs_setting_folder ORDER BY folder")
            .compactMap(String.fromDatabaseValue)
    }

    static func contains(_ folder: String, _ db: Database) throws -> Bool {
        let sql = "SELECT EXISTS (SELECT 1 FROM main.lfs_setting_folder WHERE folder = ?)"
        return try Bool.fetchOne(db, sql: sql, arguments: [folder]) ?? false
    }

    static func add(_ folder: String, _ db: Database) throws {
        try db.execute(sql: "INSERT OR IGNORE INTO main.lfs_setting_folder (folder) VALUES (?)", arguments: [folder])
    }

    static func remove(_ folder: String, _ db: Database) throws {
        try db.execute(sql: "DELETE FROM main.lfs_setting_folder WHERE folder = ?", arguments: [folder])
    }
}
