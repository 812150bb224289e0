import Foundation
import GRDB

/// A table of the records and tags that the folder of the journal was given. The database lies in that folder.
enum GivenTable {
    /// The name of the row with the tags. The other names are the ids of records.
    static let tags = "tags"

    /// Returns the contents of the rows by their names.
    static func contents(_ db: Database) throws -> [String: Data] {
        let sql = "SELECT name, content FROM folder_given"
        return try Row.fetchAll(db, sql: sql).reduce(into: [:]) { contents, row in
            guard let name = String.fromDatabaseValue(row[0]) else { return }
            contents[name] = Data.fromDatabaseValue(row[1])
        }
    }

    /// Stores the content of a row, or deletes the row if the content is nil.
    static func put(_ content: Data?, as name: String, _ db: Database) throws {
        guard let content else {
            return try db.execute(sql: "DELETE FROM folder_given WHERE name = ?", arguments: [name])
        }
        let sql = """
            INSERT INTO folder_given (name, content) VALUES (?, ?)
            ON CONFLICT (name) DO UPDATE SET content = excluded.content
            """
        try db.cachedStatement(sql: sql).execute(arguments: [name, content])
    }
}

extension DatabaseStorageService {
    /// Returns the records and tags that the folder was given. A row that cannot be read is left out: its record counts
    /// as not given, so that nothing of it is deleted.
    func loadGiven() async throws -> (records: [UUID: GivenRecord], tags: [Tag]) {
        let contents = try await read("The database") { db in try GivenTable.contents(db) }
        var (records, tags): ([UUID: GivenRecord], [Tag]) = ([:], [])
        for (name, content) in contents {
            if let id = UUID(text: name) {
                records[id] = try? JournalJSON.decoded(GivenRecord.self, data: content, name: name)
            } else if name == GivenTable.tags {
                tags = (try? JournalJSON.decoded([Tag].self, data: content, name: name)) ?? []
            }
        }
        return (records, tags)
    }

    /// Records what the folder was given. Nil for a record that the folder no longer has.
    func saveGiven(_ records: [UUID: GivenRecord?]) async throws {
        try await write("The database") { db in
            for (id, given) in records {
                let content = try given.map { try JournalJSON.encoded($0, name: id.text) }
                try GivenTable.put(content, as: id.text, db)
            }
        }
    }

    /// Records the tags that the folder was given.
    func saveGiven(_ tags: [Tag]) async throws {
        let content = try JournalJSON.encoded(tags, name: GivenTable.tags)
        try await write("The database") { db in
            try GivenTable.put(content, as: GivenTable.tags, db)
        }
    }
}
