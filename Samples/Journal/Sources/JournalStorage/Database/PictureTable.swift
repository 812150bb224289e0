import Foundation
import GRDB
import LFS

/// The pictures of records, and the files that they are.
enum PictureTable {
    /// The names of the pictures of each record, in their order.
    static func names(_ selection: RecordTable.Selection, _ db: Database) throws -> [String: [String]] {
        let sql = """
            SELECT recordId, name FROM picture \(selection.condition("recordId")) ORDER BY recordId, position
            """
        var names: [String: [String]] = [:]
        let rows = try Row.fetchCursor(db, sql: sql, arguments: selection.arguments)
        while let row = try rows.next() {
            guard let record = String.fromDatabaseValue(row[0]) else { continue }
            names[record, default: []].append(String.fromDatabaseValue(row[1]) ?? "")
        }
        return names
    }

    /// - Returns: nil when the record has none of the name.
    static func file(_ name: ImageName, _ db: Database) throws -> FileData? {
        let sql = """
            SELECT lfs_file.* FROM picture JOIN lfs_file ON lfs_file.id = picture.fileId
            WHERE picture.recordId = ? AND picture.name = ?
            """
        return try FileData.fetchOne(db, sql: sql, arguments: [name.recordID.text, name.description])
    }

    /// The record and the name of the picture that a file is; nil when it is none.
    static func picture(of file: FileData.ID, _ db: Database) throws -> String? {
        try String.fetchOne(db, sql: "SELECT name FROM picture WHERE fileId = ?", arguments: [file])
    }

    /// The files of a record's pictures, each with its upload if it has one.
    static func images(of id: UUID, _ db: Database) throws -> [StoredImage] {
        let files = FileData.filter(
            sql: "lfs_file.id IN (SELECT fileId FROM picture WHERE recordId = ?)", arguments: [id.text])
        return try files.including(optional: FileData.upload).asRequest(of: StoredImage.self).fetchAll(db)
    }

    static func freeIndex(_ id: UUID, _ db: Database) throws -> Int {
        let sql = "SELECT max(number) + 1 FROM picture WHERE recordId = ?"
        return try Int.fetchOne(db, sql: sql, arguments: [id.text]) ?? 0
    }

    /// Gives a record a picture at the end, or an existing one another file. The file that was there goes.
    static func put(_ name: ImageName, _ file: FileData.ID, _ db: Database) throws {
        let sql = """
            INSERT INTO picture (recordId, name, number, position, fileId)
            VALUES (?1, ?2, ?3, (SELECT ifnull(max(position), -1) + 1 FROM picture WHERE recordId = ?1), ?4)
            ON CONFLICT (recordId, name) DO UPDATE SET fileId = excluded.fileId
            """
        try db.execute(sql: sql, arguments: [name.recordID.text, name.description, name.index, file])
    }

    static func arrange(_ names: [String], of id: UUID, _ db: Database) throws {
        let update = try db.cachedStatement(sql: "UPDATE picture SET position = ? WHERE recordId = ? AND name = ?")
        for (position, name) in names.enumerated() {
            try update.execute(arguments: [position, id.text, name])
        }
    }

    /// - Returns: whether there was one.
    static func delete(_ name: ImageName, _ db: Database) throws -> Bool {
        let sql = "DELETE FROM picture WHERE recordId = ? AND name = ?"
        try db.execute(sql: sql, arguments: [name.recordID.text, name.description])
        return db.changesCount > 0
    }
}
