import GRDB

/// `lfs_setting_catalog`: the version of each catalog's data, and of the app that has written it.
enum CatalogTable {
    struct Versions: Sendable {
        let data: Int
        /// The version of the app that has written the data, if that app provided it.
        let app: String?
    }

    /// Returns the versions of the catalogs that were ever opened, by their names. An invalid version of another
    /// program counts as too high, so that the data is not touched.
    static func versions(_ db: Database) throws -> [String: Versions] {
        let rows = try Row.fetchAll(db, sql: "SELECT name, version, appVersion FROM main.lfs_setting_catalog")
        return Dictionary(
            rows.compactMap { row in
                guard let name = String.fromDatabaseValue(row["name"]) else { return nil }
                let version = Int.fromDatabaseValue(row["version"]) ?? .max
                return (name, Versions(data: version, app: String.fromDatabaseValue(row["appVersion"])))
            }, uniquingKeysWith: { first, _ in first })
    }

    /// Returns the version of one catalog's data, or nil if the catalog was never opened.
    static func version(of name: String, _ db: Database) throws -> Int? { try versions(db)[name]?.data }

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
