package import GRDB

/// `lfs_location`: every persistence location in use, so that a later start without the option still finds the bytes.
package enum LocationTable {
    /// Returns absolute paths.
    package static func paths(_ db: Database) throws -> [String] {
        let databasePath = try db.mainPath()
        return try String.fetchAll(db, sql: "SELECT path FROM lfs_location")
            .map { NotedPath.path(ofNote: $0, databasePath: databasePath) }
    }

    package static func add(_ path: String, _ db: Database) throws {
        try db.execute(
            sql: "INSERT OR IGNORE INTO lfs_location (path) VALUES (?)",
            arguments: [NotedPath.note(of: path, databasePath: try db.mainPath())])
    }
}
