import Foundation
import GRDB

/// `uploader_moved`: documents whose originals went once they were on the storage. That one is not here any more is no
/// reason to remove it: see `remove --gone`.
enum MovedTable {
    private static let name = "uploader_moved"

    static let schema = """
        CREATE TABLE \(name) (
            -- A document may be removed by another device: it is no foreign key.
            documentId TEXT PRIMARY KEY NOT NULL,
            movedAt REAL NOT NULL,
            -- 0 from before the original goes until it is gone.
            isDone INTEGER NOT NULL DEFAULT 0
        )
        """

    /// Notes documents before their originals go, so that none is taken for gone after a kill.
    static func note(_ documents: [Document.ID], at time: Date, _ db: Database) throws {
        for id in documents {
            try db.cachedStatement(sql: "INSERT OR REPLACE INTO \(name) VALUES (?, ?, 0)")
                .execute(arguments: [id, time.timeIntervalSince1970])
        }
    }

    /// Their originals are gone.
    static func finish(_ documents: [Document.ID], _ db: Database) throws {
        for id in documents {
            try db.cachedStatement(sql: "UPDATE \(name) SET isDone = 1 WHERE documentId = ?").execute(arguments: [id])
        }
    }

    /// Those that a run has noted and not finished, because it was killed or because the originals stay, with their
    /// paths.
    static func unfinished(_ db: Database) throws -> [(id: Document.ID, path: FilePath)] {
        let rows = try Row.fetchAll(
            db,
            sql: """
                SELECT m.documentId, d.path FROM \(name) m JOIN uploader_document d ON d.id = m.documentId
                WHERE NOT m.isDone
                """)
        return rows.compactMap { row in
            guard let id = String.fromDatabaseValue(row[0]), let path = FilePath.fromDatabaseValue(row[1]) else {
                return nil
            }
            return (id, path)
        }
    }

    /// A document has a new original, or none of its own any more.
    static func remove(_ id: Document.ID, _ db: Database) throws {
        try db.cachedStatement(sql: "DELETE FROM \(name) WHERE documentId = ?").execute(arguments: [id])
    }

    /// All of them; none in the database of an older uploader.
    static func all(_ db: Database) throws -> Set<Document.ID> {
        guard try db.tableExists(name) else { return [] }
        let rows = try Row.fetchAll(db, sql: "SELECT documentId FROM \(name)")
        return Set(rows.compactMap { String.fromDatabaseValue($0[0]) })
    }

    /// What changes with every one that is noted.
    static let state = "(SELECT count(*) || ':' || coalesce(max(movedAt), '') FROM \(name))"
}
