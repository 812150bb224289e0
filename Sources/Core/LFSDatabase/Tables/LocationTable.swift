package import GRDB
import LFSSystem

/// `lfs_location`: all persistence locations in use. With it, a later start without the option still finds the bytes.
///
/// A path in the container of the database is stored in two forms: `<StoredPath>/<absolute path>`. The first form stays
/// right when the whole container moves, and the second one when only the database moves. The first form has no empty
/// component, so the first `//` separates them.
package enum LocationTable {
    private static let separator = "//"

    /// Returns the absolute paths.
    package static func paths(_ db: Database) throws -> [String] {
        let databasePath = db.mainPath
        return try String.fetchAll(db, sql: "SELECT path FROM lfs_location")
            .map { path(ofStored: $0, databasePath: databasePath) }
    }

    /// - Parameter path: an absolute path.
    package static func add(_ path: String, _ db: Database) throws {
        let stored = StoredPath.stored(path, databasePath: db.mainPath)
        let text = stored == path ? path : "\(stored)/\(path)"
        try db.execute(sql: "INSERT OR IGNORE INTO lfs_location (path) VALUES (?)", arguments: [text])
    }

    private static func path(ofStored text: String, databasePath: String) -> String {
        guard text.utf8.first != 0x2F, let mark = text.firstRange(of: separator) else {
            return StoredPath.path(ofStored: text, databasePath: databasePath)
        }
        let moved = StoredPath.path(ofStored: String(text[..<mark.lowerBound]), databasePath: databasePath)
        let former = "/" + text[mark.upperBound...]
        return exists(moved) || !exists(former) ? moved : former
    }

    private static func exists(_ path: String) -> Bool {
        let status = Result { () throws(SystemError) in try FileStatus(following: path) }
        return if case .success = status { true } else { false }
    }
}
