import Foundation
import GRDB
import LFS

/// A table of the pictures of records with their files. A picture's id is that of its file.
enum PictureTable {
    /// Returns the names of the pictures of each record, in their order.
    static func names(_ selection: RecordTable.Selection, _ db: Database) throws -> [String: [String]] {
        try rows(selection, db).mapValues { $0.rows.map(\.name) }
    }

    private static func rows(
        _ selection: RecordTable.Selection, _ db: Database
    ) throws -> [String: PictureNames] {
        let sql = """
            SELECT recordId, id, name, number, position, fileId, deletedAt FROM picture
            \(selection.condition("recordId")) ORDER BY recordId, position, id
            """
        var stored: [String: [PictureNames.Row]] = [:]
        let rows = try Row.fetchCursor(db, sql: sql, arguments: selection.arguments)
        while let row = try rows.next() {
            let deletedAt: DatabaseValue = row[6]
            guard let record = String.fromDatabaseValue(row[0]), deletedAt.isNull else { continue }
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

    /// - Returns: The file, or nil if the record has no picture with the name.
    static func file(_ name: ImageName, _ db: Database) throws -> FileData? {
        guard let row = try rows(of: name.recordID, db).row(named: name.description) else { return nil }
        return try FileID(row.fileID).flatMap { try FileData.fetchOne(db, key: $0) }
    }

    /// Returns the name of the picture that a file belongs to, or nil if it belongs to none.
    static func picture(of file: FileData.ID, _ db: Database) throws -> String? {
        let sql = "SELECT recordId FROM picture WHERE fileId = ?"
        guard let record = try String.fetchOne(db, sql: sql, arguments: [file]).flatMap(UUID.init(text:)) else {
            return nil
        }
        return try rows(of: record, db).rows.first { $0.fileID == "\(file)" }?.name
    }

    /// Returns true if a file is a picture of a record, including a deleted one that can be restored.
    static func contains(_ file: FileData.ID, _ db: Database) throws -> Bool {
        try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM picture WHERE fileId = ?)", arguments: [file]) ?? false
    }

    /// Returns the files of a record's pictures by their names, each with its upload if it has one.
    ///
    /// - Parameter limit: The maximum number of pictures, the first ones. Nil for all.
    static func images(of id: UUID, limit: Int?, _ db: Database) throws -> [String: StoredImage] {
        let names = try rows(of: id, db).rows.prefix(limit ?? .max)
        let images = try StoredImage.all(names.map(\.fileID), db)
        return names.reduce(into: [:]) { found, row in found[row.name] = images[row.fileID] }
    }

    /// Returns the first number that is larger than all numbers of the record's pictures.
    static func freeIndex(_ id: UUID, _ db: Database) throws -> Int { try rows(of: id, db).freeNumber }

    /// Adds a picture at the end of a record. A picture with the same name is replaced and its file deleted.
    static func put(_ name: ImageName, file: FileData.ID, _ db: Database) throws {
        let names = try settled(name.recordID, db)
        let earlier = names.row(named: name.description)
        if let earlier { try delete(earlier, db) }
        let position = earlier?.position ?? Positions.next(after: names.rows.map(\.position))
        let sql = "INSERT INTO picture (id, recordId, name, number, position, fileId) VALUES (?1, ?2, ?3, ?4, ?5, ?1)"
        try db.execute(
            sql: sql, arguments: ["\(file)", name.recordID.text, name.description, name.index, position])
    }

    /// Sets the order of the pictures of a record.
    static func arrange(_ names: [String], of id: UUID, _ db: Database) throws {
        let rows = try settled(id, db)
        let ordered = names.compactMap(rows.row(named:))
        let sql = "UPDATE picture SET position = ?1 WHERE id = ?2 AND position IS NOT ?1"
        let update = try db.cachedStatement(sql: sql)
        for (row, position) in zip(ordered, Positions.arranged(ordered.map(\.position))) {
            try update.execute(arguments: [position, row.id])
        }
    }

    /// - Returns: true if the picture existed.
    static func delete(_ name: ImageName, _ db: Database) throws -> Bool {
        guard let row = try settled(name.recordID, db).row(named: name.description) else { return false }
        try delete(row, db)
        return true
    }

    /// - Returns: true if the record had a picture with this file.
    static func delete(_ file: FileData.ID, of record: UUID, _ db: Database) throws -> Bool {
        guard let row = try settled(record, db).rows.first(where: { $0.fileID == "\(file)" }) else { return false }
        try delete(row, db)
        return true
    }

    private static func delete(_ row: PictureNames.Row, _ db: Database) throws {
        try db.execute(sql: "DELETE FROM picture WHERE id = ?", arguments: [row.id])
    }

    /// Stores the names of renamed pictures before another change of the record's pictures.
    private static func settled(_ id: UUID, _ db: Database) throws -> PictureNames {
        let names = try rows(of: id, db)
        for index in names.renamed {
            let row = names.rows[index]
            try db.execute(
                sql: "UPDATE picture SET name = ?, number = ? WHERE id = ?", arguments: [row.name, row.number, row.id])
        }
        return names
    }

    // MARK: Deleted pictures that can be restored

    /// - Parameter record: The record of the picture. Nil for any record.
    /// - Returns: true if there was a picture with this file.
    static func trash(_ file: FileData.ID, of record: UUID? = nil, at date: Date, _ db: Database) throws -> Bool {
        let sql = """
            UPDATE picture SET deletedAt = ?1
            WHERE fileId = ?2 AND recordId = ifnull(?3, recordId) AND deletedAt IS NULL
            """
        try db.execute(sql: sql, arguments: [date.millisecondsSince1970, file, record?.text])
        return db.changesCount > 0
    }

    /// - Returns: true if a deleted picture has this file.
    static func restore(_ file: FileData.ID, _ db: Database) throws -> Bool {
        let sql = "UPDATE picture SET deletedAt = NULL WHERE fileId = ? AND deletedAt IS NOT NULL"
        try db.execute(sql: sql, arguments: [file])
        return db.changesCount > 0
    }
}
