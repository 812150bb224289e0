import GRDB

/// `lfs_setting_catalog`: the version of each catalog's data, and that of the app that has written them.
enum CatalogTable {
    /// Nil for a catalog that was never opened here. A version that another program has written wrongly counts as too
    /// high, so that nothing is touched.
    static func version(of name: String, _ db: Database) throws -> Int? {
        let sql = "SELECT version FROM main.lfs_setting_catalog WHERE name = ?"
        guard let value = try DatabaseValue.fetchOne(db, sql: sql, arguments: [name]) else { return nil }
        return Int.fromDatabaseValue(value) ?? .max
    }

    /// The version of the app that has written the data of each catalog, as far as it has said it.
    static func appVersions(_ db: Database) throws -> [String: String] {
        let rows = try Row.fetchAll(db, sql: "SELECT name, appVersion FROM main.lfs_setting_catalog")
        return Dictionary(
            rows.compactMap { row in
                guard let name = String.fromDatabaseValue(row["name"]),
                    let version = String.fromDatabaseValue(row["appVersion"])
                else { return nil }
                return (name, version)
            }, uniquingKeysWith: { first, _ in first })
    }

    static func noteAppVersion(_ version: String, of names: [String], _ db: Database) throws {
        for name in names {
            try db.execute(
                sql: "UPDATE main.lfs_setting_catalog SET appVersion = ? WHERE name = ?", arguments: [version, name])
        }
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
