import Foundation
import GRDB
import LFSSystem

/// All SQL of the table `entry`, and of `tag` and `total`, which depend on it.
enum EntryTable {
    /// An entry as it was read. Only the types of its values are checked.
    struct Lookup: Sendable {
        let id: Int64
        let byteCount: Int
        let checksum: Int64
        let file: FileID?
        let content: Data?
        /// The tags, sorted by their bytes.
        let tags: [Data]

        func isSame(as other: Lookup) -> Bool {
            (id, checksum, file) == (other.id, other.checksum, other.file)
        }
    }

    // MARK: Reading

    static func find(_ key: CacheKey, _ db: Database) throws -> Lookup? {
        let statement = try db.cachedStatement(
            sql: "SELECT id, byteCount, checksum, file, content FROM entry WHERE kind = ? AND name = ?")
        guard let row = try Row.fetchOne(statement, arguments: [key.kind.blob, key.blob]),
            let id = Int64.fromDatabaseValue(row[0])
        else { return nil }
        let tags = try db.cachedStatement(sql: "SELECT tag FROM tag WHERE entryID = ? ORDER BY tag")
        return Lookup(
            id: id, byteCount: Int.fromDatabaseValue(row[1]) ?? -1,
            checksum: Int64.fromDatabaseValue(row[2]) ?? 0,
            file: String.fromDatabaseValue(row[3]).flatMap(FileID.init(text:)),
            content: Data.fromDatabaseValue(row[4]),
            tags: try DatabaseValue.fetchAll(tags, arguments: [id]).map { Data.fromDatabaseValue($0) ?? Data() })
    }

    /// Returns the number of entries and bytes of each kind.
    static func totals(_ db: Database) throws -> [CacheKind: (count: Int, byteCount: Int)] {
        var totals: [CacheKind: (Int, Int)] = [:]
        for row in try Row.fetchAll(db, sql: "SELECT kind, count, byteCount FROM total WHERE count > 0") {
            guard let kind = Data.fromDatabaseValue(row["kind"]) else { continue }
            totals[CacheKind(String(decoding: kind, as: UTF8.self))] = number(row)
        }
        return totals
    }

    private static func total(_ kind: CacheKind, _ db: Database) throws -> (count: Int, byteCount: Int) {
        let statement = try db.cachedStatement(sql: "SELECT count, byteCount FROM total WHERE kind = ?")
        return try Row.fetchOne(statement, arguments: [kind.blob]).map(number) ?? (0, 0)
    }

    private static func number(_ row: Row) -> (count: Int, byteCount: Int) {
        (number(row, column: "count"), number(row, column: "byteCount"))
    }

    /// Returns a count that is safe to add to, whatever the row contains.
    private static func number(_ row: Row, column: String) -> Int {
        min(max(Int.fromDatabaseValue(row[column]) ?? 0, 0), 1 << 50)
    }

    /// Returns true if an entry has its content in the file.
    static func names(_ file: FileID, _ db: Database) throws -> Bool {
        try Bool.fetchOne(
            db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM entry WHERE file = ?)"), arguments: [file.text])
            ?? false
    }

    /// Recomputes the totals that the triggers maintain, in case another program has written to the database.
    static func countAnew(_ db: Database) throws {
        try db.execute(
            sql: """
                DELETE FROM total;
                INSERT INTO total (kind, count, byteCount)
                SELECT kind, count(*), sum(byteCount) FROM entry GROUP BY kind;
                """)
    }

    // MARK: Writing

    /// - Parameter file: the file that holds the content. Nil stores the content in the row.
    static func insert(_ entry: StoredEntry, file: FileID?, _ db: Database) throws {
        try db.cachedStatement(
            sql: """
                INSERT INTO entry (kind, name, byteCount, checksum, used, file, content) VALUES (?, ?, ?, ?, ?, ?, ?)
                """
        ).execute(
            arguments: [
                entry.key.kind.blob, entry.key.blob, entry.content.count, entry.checksum,
                try CacheSchema.takeTicks(1, db), file?.text, file == nil ? entry.content : nil,
            ])
        let id = db.lastInsertedRowID
        let statement = try db.cachedStatement(sql: "INSERT INTO tag (tag, entryID) VALUES (?, ?)")
        for tag in entry.tags { try statement.execute(arguments: [tag.blob, id]) }
    }

    /// Records uses. The last name in the array was used last.
    static func use(_ names: [String], of kind: CacheKind, _ db: Database) throws {
        if names.isEmpty { return }
        var tick = try CacheSchema.takeTicks(names.count, db) &- Int64(names.count)
        let statement = try db.cachedStatement(sql: "UPDATE entry SET used = ? WHERE kind = ? AND name = ?")
        for name in names {
            tick &+= 1
            try statement.execute(arguments: [tick, kind.blob, Data(name.utf8)])
        }
    }

    // MARK: Removing

    /// Removes entries.
    ///
    /// - Returns: the files to delete once the transaction is committed.
    static func remove(_ selection: Selection, _ db: Database) throws -> [FileID] {
        switch selection {
        case .key(let key): try remove("kind = ? AND name = ?", arguments: [key.kind.blob, key.blob], db)
        case .tags(let tags):
            try tags.flatMap { tag in
                try remove("id IN (SELECT entryID FROM tag WHERE tag = ?)", arguments: [tag.blob], db)
            }
        case .kind(let kind): try remove("kind = ?", arguments: [kind.blob], db)
        case .all: try remove("1", arguments: [], db)
        }
    }

    /// Removes an entry that was read, unless another entry has replaced it.
    static func remove(_ found: Lookup, _ db: Database) throws -> [FileID] {
        try remove("id = ? AND checksum = ?", arguments: [found.id, found.checksum], db)
    }

    private static func remove(_ condition: String, arguments: StatementArguments, _ db: Database) throws -> [FileID] {
        let files = try DatabaseValue.fetchAll(
            db.cachedStatement(sql: "SELECT file FROM entry WHERE file IS NOT NULL AND \(condition)"),
            arguments: arguments)
        try db.cachedStatement(sql: "DELETE FROM entry WHERE \(condition)").execute(arguments: arguments)
        return files.compactMap { String.fromDatabaseValue($0).flatMap(FileID.init(text:)) }
    }

    /// Returns true if the kind, with an additional entry of the given size, stays within the limit.
    static func hasRoom(for byteCount: Int?, _ kind: CacheKind, limit: CacheLimit, _ db: Database) throws -> Bool {
        let total = try total(kind, db)
        return limit.holds(
            count: total.count + (byteCount == nil ? 0 : 1), byteCount: total.byteCount + (byteCount ?? 0))
    }

    /// Removes the least recently used entries of a kind until it fills, with the new entry, at most nine tenths of the
    /// limit.
    ///
    /// - Returns: the evicted entries, and the files to delete once the transaction is committed.
    static func evict(
        for byteCount: Int?, _ kind: CacheKind, limit: CacheLimit, _ db: Database
    ) throws -> (keys: [CacheKey], files: [FileID]) {
        var total = try total(kind, db)
        var gone: (ids: [Int64], keys: [CacheKey], files: [FileID]) = ([], [], [])
        let floor = limit.floor
        if let byteCount { (total.count, total.byteCount) = (total.count + 1, total.byteCount + byteCount) }
        let rows = try Row.fetchCursor(
            db.cachedStatement(
                sql: "SELECT id, name, byteCount, file FROM entry WHERE kind = ? ORDER BY used, id"),
            arguments: [kind.blob])
        while !floor.holds(count: total.count, byteCount: total.byteCount), let row = try rows.next() {
            guard let id = Int64.fromDatabaseValue(row["id"]) else { continue }
            gone.ids.append(id)
            if let name = Data.fromDatabaseValue(row["name"]) {
                gone.keys.append(CacheKey(kind, name: String(decoding: name, as: UTF8.self)))
            }
            if let file = String.fromDatabaseValue(row["file"]).flatMap(FileID.init(text:)) { gone.files.append(file) }
            total.count -= 1
            total.byteCount -= number(row, column: "byteCount")
        }
        let delete = try db.cachedStatement(sql: "DELETE FROM entry WHERE id = ?")
        for id in gone.ids { try delete.execute(arguments: [id]) }
        return (gone.keys, gone.files)
    }
}

extension CacheKind {
    fileprivate var blob: Data { Data(name.utf8) }
}

extension CacheKey {
    fileprivate var blob: Data { Data(name.utf8) }
}

extension CacheTag {
    fileprivate var blob: Data { Data(text.utf8) }
}
