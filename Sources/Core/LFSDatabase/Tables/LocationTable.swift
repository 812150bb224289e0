package import GRDB

/// `lfs_location`: all persistence locations in use. With it, a later start without the option still finds the bytes.
package enum LocationTable {
    package static func paths(_ db: Database) throws -> [String] {
        try String.fetchAll(db, sql: "SELECT path FROM lfs_location")
    }

    package static func add(_ path: String, _ db: Database) throws {
        try db.execute(sql: "INSERT OR IGNORE INTO lfs_location (path) VALUES (?)", arguments: [path])
    }
}
