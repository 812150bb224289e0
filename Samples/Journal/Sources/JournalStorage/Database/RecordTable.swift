import Foundation
import GRDB

/// A table of the records and their tags.
enum RecordTable {
    /// A selection of records: a query that returns their ids, or all records.
    struct Selection {
        var ids: String?
        var arguments: StatementArguments = []

        static let all = Selection()
        static let running = Selection(ids: "SELECT id FROM record WHERE endedAt IS NULL")

        static func one(_ id: UUID) -> Selection { Selection(ids: "SELECT ?", arguments: [id.text]) }

        /// Returns a selection of the records in a range, as ``TimeRecord/overlaps(from:to:)`` defines it.
        static func range(from: Date, to: Date) -> Selection {
            // The indexes are named, since SQLite might otherwise choose to read all records.
            let ids = """
                SELECT id FROM record INDEXED BY record_end
                    WHERE endedAt IS NOT NULL AND max(endedAt, startedAt) >= :from AND startedAt < :to
                        AND (max(endedAt, startedAt) > :from OR startedAt = :from)
                UNION ALL
                SELECT id FROM record INDEXED BY record_running WHERE endedAt IS NULL AND startedAt < :to
                """
            return Selection(
                ids: ids, arguments: ["from": from.millisecondsSince1970, "to": to.millisecondsSince1970])
        }

        /// Returns a selection of the newest records before a place in the timeline.
        static func page(before place: TimelinePlace?, limit: Int) -> Selection {
            let ids = """
                SELECT id FROM (
                    SELECT id FROM record INDEXED BY record_start
                    WHERE (startedAt, id) < (:start, :id)
                    ORDER BY startedAt DESC, id DESC LIMIT :limit)
                """
            // For the newest page: a value that sorts after every lowercase UUID.
            return Selection(
                ids: ids,
                arguments: [
                    "start": place?.start.millisecondsSince1970 ?? Int.max, "id": place?.id.text ?? "~", "limit": limit,
                ])
        }

        func condition(_ column: String) -> String { ids.map { "WHERE \(column) IN (\($0))" } ?? "" }
    }

    /// Returns records with their tags and without their pictures, and the records that cannot be read.
    static func fetch(_ selection: Selection, _ db: Database) throws -> (
        records: [TimeRecord], damaged: [DamagedRecord]
    ) {
        let tags = try tags(selection, db)
        let sql = """
            SELECT id, startedAt, endedAt, timeZone, comment FROM record
            \(selection.condition("id")) ORDER BY startedAt, id
            """
        var (records, damaged): ([TimeRecord], [DamagedRecord]) = ([], [])
        let rows = try Row.fetchCursor(db, sql: sql, arguments: selection.arguments)
        while let row = try rows.next() {
            let checked = CheckedRow(row, of: "record")
            do {
                var record = try record(checked)
                for tag in tags[record.id.text] ?? [] {
                    guard let id = UUID(text: tag) else { throw checked.damaged("tagId") }
                    if !record.tags.contains(id) { record.tags.append(id) }
                }
                records.append(record)
            } catch let error as FileStorageError {
                damaged.append(DamagedRecord(name: checked.name, reason: "\(error)"))
            }
        }
        return (records, damaged)
    }

    static func record(_ row: CheckedRow) throws -> TimeRecord {
        var record = TimeRecord(
            id: try row.id(), start: try row.date("startedAt"), end: try row.optionalDate("endedAt"),
            comment: try row.value("comment"))
        // One device has set the start, and another one the end.
        record.end = record.end.map { max($0, record.start) }
        record.timeZone = try row.value("timeZone")
        return record
    }

    private static func tags(_ selection: Selection, _ db: Database) throws -> [String: [String]] {
        let sql = """
            SELECT recordId, tagId FROM record_tag \(selection.condition("recordId")) ORDER BY recordId, position, id
            """
        var tags: [String: [String]] = [:]
        let rows = try Row.fetchCursor(db, sql: sql, arguments: selection.arguments)
        while let row = try rows.next() {
            guard let record = String.fromDatabaseValue(row[0]) else { continue }
            tags[record, default: []].append(String.fromDatabaseValue(row[1]) ?? "")
        }
        return tags
    }

    static func contains(_ id: UUID, _ db: Database) throws -> Bool {
        try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM record WHERE id = ?)", arguments: [id.text]) ?? false
    }

    /// Inserts or updates a record, and writes only the values that differ. The pictures are unchanged. An end before
    /// the start, as two devices may have set it, is kept until a person sets another end.
    static func put(_ record: TimeRecord, _ db: Database) throws {
        let sql = """
            INSERT INTO record (id, startedAt, endedAt, timeZone, comment) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (id) DO UPDATE SET startedAt = excluded.startedAt,
                endedAt = CASE
                    WHEN excluded.startedAt = startedAt AND excluded.endedAt = max(endedAt, startedAt) THEN endedAt
                    ELSE excluded.endedAt END,
                timeZone = excluded.timeZone, comment = excluded.comment
            """
        try db.cachedStatement(sql: sql).execute(arguments: [
            record.id.text, record.start.millisecondsSince1970, record.end?.millisecondsSince1970, record.timeZone,
            record.comment,
        ])
        try putTags(of: record, db)
    }

    private static func putTags(of record: TimeRecord, _ db: Database) throws {
        let id = record.id.text
        let sql = "SELECT id, tagId, position FROM record_tag WHERE recordId = ? ORDER BY position, id"
        var places: [String: Int] = [:]
        for row in try Row.fetchAll(db, sql: sql, arguments: [id]) {
            let (key, tag) = (String.fromDatabaseValue(row[0]), String.fromDatabaseValue(row[1]) ?? "")
            // Another program may have inserted a tag twice.
            if let key, key == Self.key(id, tag: tag), record.tags.contains(where: { $0.text == tag }) {
                places[tag] = Positions.place(row[2])
            } else {
                try db.cachedStatement(sql: "DELETE FROM record_tag WHERE id = ?").execute(arguments: [row[0]])
            }
        }
        let put = try db.cachedStatement(
            sql: """
                INSERT INTO record_tag (id, recordId, position, tagId) VALUES (?, ?, ?, ?)
                ON CONFLICT (id) DO UPDATE SET position = excluded.position WHERE position IS NOT excluded.position
                """)
        for (tag, position) in zip(record.tags, Positions.arranged(record.tags.map { places[$0.text] })) {
            try put.execute(arguments: [key(id, tag: tag.text), id, position, tag.text])
        }
    }

    /// Returns the id of a row. Two devices that add the same tag to the same record create the same row.
    private static func key(_ record: String, tag: String) -> String { "\(record)_\(tag)" }

    /// - Returns: true if the record existed.
    static func delete(_ id: UUID, _ db: Database) throws -> Bool {
        try db.execute(sql: "DELETE FROM record WHERE id = ?", arguments: [id.text])
        return db.changesCount > 0
    }
}
