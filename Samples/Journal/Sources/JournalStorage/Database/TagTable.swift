import Foundation
import GRDB

/// The tags, in the order in which they were saved.
enum TagTable {
    static func all(_ db: Database) throws -> [Tag] {
        let rows = try Row.fetchCursor(db, sql: "SELECT id, name, color FROM tag ORDER BY position")
        var tags: [Tag] = []
        while let row = try rows.next() {
            let checked = CheckedRow(row, of: "tag")
            tags.append(
                Tag(id: try checked.id(), name: try checked.value("name"), color: try checked.optional("color")))
        }
        return tags
    }

    static func replace(with tags: [Tag], _ db: Database) throws {
        try db.execute(sql: "DELETE FROM tag")
        let insert = try db.cachedStatement(sql: "INSERT INTO tag (id, position, name, color) VALUES (?, ?, ?, ?)")
        for (position, tag) in tags.enumerated() {
            try insert.execute(arguments: [tag.id.text, position, tag.name, tag.color])
        }
    }
}
