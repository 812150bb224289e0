import GRDB

/// A table of the tags in the order in which they were saved.
enum TagTable {
    static func all(_ db: Database) throws -> [Tag] {
        let rows = try Row.fetchCursor(db, sql: "SELECT id, name, color FROM tag ORDER BY position, id")
        var tags: [Tag] = []
        while let row = try rows.next() {
            let checked = CheckedRow(row, of: "tag")
            tags.append(
                Tag(id: try checked.id(), name: try checked.value("name"), color: try checked.optional("color")))
        }
        return tags
    }

    /// Replaces the list of tags, and writes only the rows that differ.
    static func replace(with tags: [Tag], _ db: Database) throws {
        let kept = Set(tags.map(\.id.text))
        let places = try Positions.all("SELECT id, position FROM tag", db)
        for id in places.keys where !kept.contains(id) {
            try db.execute(sql: "DELETE FROM tag WHERE id = ?", arguments: [id])
        }
        for (tag, position) in zip(tags, Positions.arranged(tags.map { places[$0.id.text] })) {
            try put(tag, at: position, db)
        }
    }

    /// Adds a tag at the end, or changes it at its present position.
    static func add(_ tag: Tag, _ db: Database) throws {
        let places = try Positions.all("SELECT id, position FROM tag", db)
        try put(tag, at: places[tag.id.text] ?? Positions.next(after: places.values), db)
    }

    private static func put(_ tag: Tag, at position: Int, _ db: Database) throws {
        let sql = """
            INSERT INTO tag (id, position, name, color) VALUES (?, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE SET position = excluded.position, name = excluded.name, color = excluded.color
            WHERE position IS NOT excluded.position OR name IS NOT excluded.name OR color IS NOT excluded.color
            """
        try db.cachedStatement(sql: sql).execute(arguments: [tag.id.text, position, tag.name, tag.color])
    }
}
