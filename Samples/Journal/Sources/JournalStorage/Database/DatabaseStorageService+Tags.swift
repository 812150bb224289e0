import GRDB

/// The tags in the order in which they were saved.
extension DatabaseStorageService {
    public func loadTags() async throws -> [Tag] {
        try await read("The tags") { db in
            try Row.fetchAll(db, sql: "SELECT id, name, color FROM tag ORDER BY position, id").map { row in
                let checked = CheckedRow(row, of: "tag")
                return Tag(
                    id: try checked.id(), name: try checked.value("name"), color: try checked.optional("color"))
            }
        }
    }

    public func saveTags(_ tags: [Tag]) async throws {
        try tags.requireStorable()
        let kept = Set(tags.map(\.id.text))
        try await write("The tags") { db in
            let places = try Self.tagPlaces(db)
            for id in places.keys where !kept.contains(id) {
                try db.execute(sql: "DELETE FROM tag WHERE id = ?", arguments: [id])
            }
            for (tag, position) in zip(tags, Positions.arranged(tags.map { places[$0.id.text] })) {
                try Self.put(tag, at: position, db)
            }
        }
    }

    /// Adds a tag at the end of the list, or changes the tag with its id. Other tags are unchanged, including those
    /// that another device has just added.
    ///
    /// - Throws: The errors of ``saveTags(_:)``.
    public func addTag(_ tag: Tag) async throws {
        try [tag].requireStorable()
        try await write("tag \(tag.id.text)") { db in
            let places = try Self.tagPlaces(db)
            try Self.put(tag, at: places[tag.id.text] ?? Positions.next(after: places.values), db)
        }
    }

    private static func tagPlaces(_ db: Database) throws -> [String: Int] {
        try Positions.all("SELECT id, position FROM tag", db)
    }

    /// Writes a tag if it differs from the stored one.
    private static func put(_ tag: Tag, at position: Int, _ db: Database) throws {
        let sql = """
            INSERT INTO tag (id, position, name, color) VALUES (?, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE SET position = excluded.position, name = excluded.name, color = excluded.color
            WHERE position IS NOT excluded.position OR name IS NOT excluded.name OR color IS NOT excluded.color
            """
        try db.cachedStatement(sql: sql).execute(arguments: [tag.id.text, position, tag.name, tag.color])
    }
}
