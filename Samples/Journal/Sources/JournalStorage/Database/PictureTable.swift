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

    // MARK: Months

    /// The largest number of months that are returned. Rows may have any times.
    private static let maxMonths = 1_200

    /// Returns the months with pictures, the newest first.
    static func months(_ calendar: Calendar, _ db: Database) throws -> [PictureMonth] {
        let newest = """
            SELECT CAST(startedAt AS INTEGER) FROM record INDEXED BY record_start
            WHERE startedAt < ? AND startedAt >= ?
                AND EXISTS (SELECT 1 FROM picture WHERE recordId = record.id AND deletedAt IS NULL)
            ORDER BY startedAt DESC LIMIT 1
            """
        let count = """
            SELECT count(*) FROM record INDEXED BY record_start CROSS JOIN picture ON picture.recordId = record.id
            WHERE startedAt >= ? AND startedAt < ? AND deletedAt IS NULL
            """
        var months: [PictureMonth] = []
        var end = Timestamp.storable.upperBound
        while months.count < maxMonths,
            let time = try Int.fetchOne(
                db.cachedStatement(sql: newest), arguments: [end, Timestamp.storable.lowerBound])
        {
            let date = Date(millisecondsSince1970: time)
            guard let interval = calendar.dateInterval(of: .month, for: date) else { break }
            let start = min(interval.start.millisecondsSince1970, time)
            let pictures = try Int.fetchOne(db.cachedStatement(sql: count), arguments: [start, end])
            months.append(PictureMonth(start: interval.start, end: interval.end, count: pictures ?? 0))
            end = start
        }
        return months
    }

    private static let shown = """
        SELECT record.id, startedAt, endedAt, timeZone, comment, fileId,
            (SELECT count(*) FROM picture other WHERE other.recordId = record.id AND other.deletedAt IS NULL
                AND (other.position, other.id) <= (picture.position, picture.id)) AS place
        FROM record INDEXED BY record_start CROSS JOIN picture ON picture.recordId = record.id
        WHERE deletedAt IS NULL
        """
    private static let newestFirst = "ORDER BY startedAt DESC, record.id DESC, position, picture.id"

    /// Returns pictures of a range of time, those of the newest record first.
    static func pictures(
        from start: Date, to end: Date, skipping count: Int, limit: Int, _ db: Database
    ) throws -> [TimelineImage] {
        try images(
            "\(shown) AND startedAt >= ? AND startedAt < ? \(newestFirst) LIMIT ? OFFSET ?",
            arguments: [start.millisecondsSince1970, end.millisecondsSince1970, limit, count], db)
    }

    /// Returns the pictures that match all words of a search, the newest first.
    static func pictures(matching search: PictureSearch, limit: Int, _ db: Database) throws -> [TimelineImage] {
        var (conditions, arguments): (String, StatementArguments) = ("", [])
        for word in search.words {
            conditions += """
                 AND (comment LIKE ? ESCAPE '\\'
                    OR EXISTS (SELECT 1 FROM record_tag JOIN tag ON tag.id = tagId
                        WHERE recordId = record.id AND tag.name LIKE ? ESCAPE '\\')
                    OR EXISTS (SELECT 1 FROM album_asset JOIN album ON album.id = albumId
                        WHERE album_asset.fileId = picture.fileId AND album.name LIKE ? ESCAPE '\\')
                    OR startedAt >= ? AND startedAt < ?)
                """
            arguments += [
                word.pattern, word.pattern, word.pattern, word.dates?.start.millisecondsSince1970,
                word.dates?.end.millisecondsSince1970,
            ]
        }
        return try images(
            "\(shown)\(conditions) \(newestFirst) LIMIT ?", arguments: arguments + [limit], db)
    }

    /// A record with an invalid value is left out, as on other pages.
    private static func images(
        _ sql: String, arguments: StatementArguments, _ db: Database
    ) throws -> [TimelineImage] {
        let rows = try Row.fetchAll(db, sql: sql, arguments: arguments)
        let ids = rows.compactMap { String.fromDatabaseValue($0[5]) }
        let images = try StoredImage.all(ids, db)
        let looks = try PictureLook.all(ids, db)
        return rows.compactMap { row in
            guard let image = String.fromDatabaseValue(row[5]).flatMap({ images[$0] }),
                let record = try? RecordTable.record(CheckedRow(row, of: "record"))
            else { return nil }
            return TimelineImage(
                image: image, record: record, number: Int.fromDatabaseValue(row[6]) ?? 1,
                look: looks["\(image.file.id)"])
        }
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

    /// Returns the deleted pictures, the last deleted first.
    static func trashed(_ limit: Int, _ db: Database) throws -> [DeletedImage] {
        let sql = """
            SELECT recordId, fileId, deletedAt FROM picture INDEXED BY picture_deleted
            WHERE deletedAt IS NOT NULL ORDER BY deletedAt DESC LIMIT ?
            """
        let rows = try Row.fetchAll(db, sql: sql, arguments: [limit])
        let images = try StoredImage.all(rows.compactMap { String.fromDatabaseValue($0[1]) }, db)
        return rows.compactMap { row in
            guard let record = String.fromDatabaseValue(row[0]).flatMap(UUID.init(text:)),
                let image = String.fromDatabaseValue(row[1]).flatMap({ images[$0] })
            else { return nil }
            // Another program may have written any value.
            let time = Int.fromDatabaseValue(row[2]).flatMap { Timestamp.storable.contains($0) ? $0 : nil }
            return DeletedImage(image: image, recordID: record, deletedAt: time.map(Date.init(millisecondsSince1970:)))
        }
    }

    /// Deletes one picture that can be restored, or all that were deleted before a time.
    ///
    /// - Returns: The number of deleted pictures.
    static func empty(_ file: FileData.ID?, before date: Date, _ db: Database) throws -> Int {
        if let file {
            try db.execute(
                sql: "DELETE FROM picture WHERE fileId = ? AND deletedAt IS NOT NULL", arguments: [file])
        } else {
            // A value that is not a number compares as larger.
            try db.execute(
                sql: "DELETE FROM picture INDEXED BY picture_deleted WHERE deletedAt < ?",
                arguments: [date.millisecondsSince1970])
        }
        return db.changesCount
    }
}
