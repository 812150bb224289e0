import Foundation
import GRDB
import LFS

/// The pictures of records, and the files that they are. A picture's id is that of its file.
enum PictureTable {
    /// The names of the pictures of each record, in their order.
    static func names(_ selection: RecordTable.Selection, _ db: Database) throws -> [String: [String]] {
        try rows(selection, db).mapValues { $0.rows.map(\.name) }
    }

    private static func rows(
        _ selection: RecordTable.Selection, _ db: Database
    ) throws -> [String: PictureNames] {
        let sql = """
            SELECT recordId, id, name, number, position, fileId FROM picture
            \(selection.condition("recordId")) ORDER BY recordId, position, id
            """
        var stored: [String: [PictureNames.Row]] = [:]
        let rows = try Row.fetchCursor(db, sql: sql, arguments: selection.arguments)
        while let row = try rows.next() {
            guard let record = String.fromDatabaseValue(row[0]) else { continue }
            stored[record, default: []].append(
                PictureNames.Row(
                    id: String.fromDatabaseValue(row[1]) ?? "", name: String.fromDatabaseValue(row[2]) ?? "",
                    number: Int.fromDatabaseValue(row[3]) ?? 0, position: Positions.place(row[4]) ?? 0,
                    fileID: String.fromDatabaseValue(row[5]) ?? ""))
        }
        return stored.mapValues { PictureNames($0) }
    }

    private static func rows(of id: UUID, _ db: Database) throws -> PictureNames {
        try rows(.one(id), db)[id.text] ?? PictureNames([])
    }

    /// - Returns: nil when the record has none of the name.
    static func file(_ name: ImageName, _ db: Database) throws -> FileData? {
        guard let row = try rows(of: name.recordID, db).row(named: name.description) else { return nil }
        return try FileID(row.fileID).flatMap { try FileData.fetchOne(db, key: $0) }
    }

    /// The name of the picture that a file is; nil when it is none.
    static func picture(of file: FileData.ID, _ db: Database) throws -> String? {
        let sql = "SELECT recordId FROM picture WHERE fileId = ?"
        guard let record = try String.fetchOne(db, sql: sql, arguments: [file]).flatMap(UUID.init(text:)) else {
            return nil
        }
        return try rows(of: record, db).rows.first { $0.fileID == "\(file)" }?.name
    }

    /// The files of a record's pictures by their names, each with its upload if it has one.
    static func images(of id: UUID, _ db: Database) throws -> [String: StoredImage] {
        let names = try rows(of: id, db).rows
        let images = try StoredImage.all(names.map(\.fileID), db)
        return names.reduce(into: [:]) { found, row in found[row.name] = images[row.fileID] }
    }

    /// The lowest number that no picture of the record has had at the same time.
    static func freeIndex(_ id: UUID, _ db: Database) throws -> Int { try rows(of: id, db).freeNumber }

    /// Gives a record a picture at the end, or in the place of the one with its name, whose file goes.
    static func put(_ name: ImageName, _ file: FileData.ID, _ db: Database) throws {
        let names = try settled(name.recordID, db)
        let earlier = names.row(named: name.description)
        if let earlier { try delete(earlier, db) }
        let position = earlier?.position ?? Positions.next(after: names.rows.map(\.position))
        let sql = "INSERT INTO picture (id, recordId, name, number, position, fileId) VALUES (?1, ?2, ?3, ?4, ?5, ?1)"
        try db.execute(
            sql: sql, arguments: ["\(file)", name.recordID.text, name.description, name.index, position])
    }

    /// Brings the pictures of a record into this order.
    static func arrange(_ names: [String], of id: UUID, _ db: Database) throws {
        let rows = try settled(id, db)
        let ordered = names.compactMap(rows.row(named:))
        let sql = "UPDATE picture SET position = ?1 WHERE id = ?2 AND position IS NOT ?1"
        let update = try db.cachedStatement(sql: sql)
        for (row, position) in zip(ordered, Positions.arranged(ordered.map(\.position))) {
            try update.execute(arguments: [position, row.id])
        }
    }

    /// - Returns: whether there was one.
    static func delete(_ name: ImageName, _ db: Database) throws -> Bool {
        guard let row = try settled(name.recordID, db).row(named: name.description) else { return false }
        try delete(row, db)
        return true
    }

    /// - Returns: whether the record had a picture that is this file.
    static func delete(_ file: FileData.ID, of record: UUID, _ db: Database) throws -> Bool {
        guard let row = try settled(record, db).rows.first(where: { $0.fileID == "\(file)" }) else { return false }
        try delete(row, db)
        return true
    }

    private static func delete(_ row: PictureNames.Row, _ db: Database) throws {
        try db.execute(sql: "DELETE FROM picture WHERE id = ?", arguments: [row.id])
    }

    /// Writes down the names that two devices have had to share, before they change for another reason.
    private static func settled(_ id: UUID, _ db: Database) throws -> PictureNames {
        let names = try rows(of: id, db)
        for index in names.renamed {
            let row = names.rows[index]
            try db.execute(
                sql: "UPDATE picture SET name = ?, number = ? WHERE id = ?", arguments: [row.name, row.number, row.id])
        }
        return names
    }
}
