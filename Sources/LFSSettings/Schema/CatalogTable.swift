import GRDB

/// `lfs_setting_catalog`: the version of each catalog's data.
enum CatalogTable {
    /// Nil for a catalog that was never opened here. A version that another program has written wrongly counts as too
    /// high, so that nothing is touched.
    static func version(of name: String, _ db: Database) throws -> Int? {
        let sql = "SELECT version FROM main.lfs_setting_catalog WHERE name = ?"
        guard let value = try DatabaseValue.fetchOne(db, sql: sql, arguments: [name]) else { return nil }
        return Int.fromDatabaseValue(value) ?? .max
    }

    static func setVersion(_ version: Int, of name: String, _ db: Database) throws {
        try db.execute(
            sql: """
                INSERT INTO main.lfs_setting_catalog (name, version) VALUES (?1, ?2)
                ON CONFLICT (name) DO UPDATE SET version = ?2
                """,
            arguments: [name, version])
    }
}
