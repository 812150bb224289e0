import Foundation
import GRDB

/// A table of the records and tags that folders were given.
enum GivenTable {
    /// The name of the row with the tags. The other names are the ids of records.
    static let tags = "tags"

    /// Returns the contents of a folder's rows by their names.
    static func contents(of folder: String, _ db: Database) throws -> [String: Data] {
        let sql = "SELECT name, content FROM folder_given WHERE folder = ?"
        return try Row.fetchAll(db, sql: sql, arguments: [folder]).reduce(into: [:]) { contents, row in
            guard let name = String.fromDatabaseValue(row[0]) else { return }
            contents[name] = Data.fromDatabaseValue(row[1])
        }
    }

    /// Stores the content of a row, or deletes the row if the content is nil.
    static func put(_ content: Data?, as name: String, of folder: String, _ db: Database) throws {
        guard let content else {
            return try db.execute(
                sql: "DELETE FROM folder_given WHERE folder = ? AND name = ?", arguments: [folder, name])
        }
        let sql = """
            INSERT INTO folder_given (folder, name, content) VALUES (?, ?, ?)
            ON CONFLICT (folder, name) DO UPDATE SET content = excluded.content
            """
        try db.cachedStatement(sql: sql).execute(arguments: [folder, name, content])
    }
}

extension DatabaseStorageService {
    /// Returns the records and tags that a folder was given. A row that cannot be read is left out: its record counts
    /// as not given, so that nothing of it is deleted.
    func loadGiven(to folder: String) async throws -> (records: [UUID: GivenRecord], tags: [Tag]) {
        let contents = try await read("The database") { db in try GivenTable.contents(of: folder, db) }
        var (records, tags): ([UUID: GivenRecord], [Tag]) = ([:], [])
        for (name, content) in contents {
            if let id = UUID(text: name) {
                records[id] = try? JournalFolder.decoded(GivenRecord.self, data: content, name: name)
            } else if name == GivenTable.tags {
                tags = (try? JournalFolder.decoded([Tag].self, data: content, name: name)) ?? []
            }
        }
        return (records, tags)
    }

    /// Records what a folder was given. Nil for a record that the folder no longer has.
    func saveGiven(_ records: [UUID: GivenRecord?], to folder: String) async throws {
        try await write("The database") { db in
            for (id, given) in records {
                let content = try given.map { try JournalFolder.encoded($0, name: id.text) }
                try GivenTable.put(content, as: id.text, of: folder, db)
            }
        }
    }

    /// Records the tags that a folder was given.
    func saveGiven(_ tags: [Tag], to folder: String) async throws {
        let content = try JournalFolder.encoded(tags, name: GivenTable.tags)
        try await write("The database") { db in
            try GivenTable.put(content, as: GivenTable.tags, of: folder, db)
        }
    }
}
