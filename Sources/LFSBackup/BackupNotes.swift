public import GRDB
public import LFS
import LFSDatabase

/// What the database remembers of originals, for an app that changes its records.
public enum BackupNotes {
    /// What is remembered of an original.
    public struct Note: Hashable, Sendable {
        /// The original.
        public let id: AssetName
        /// How it looked when it was read.
        public let stamp: String
        /// Its file; of one that is declined the file that was deleted.
        public let fileID: FileData.ID?
        /// Whether it was deleted on purpose.
        public let isDeclined: Bool
    }

    /// Calls a closure for each original that was read, in no order.
    ///
    /// - Throws: the database's error, and what the closure throws.
    public static func forEach(_ db: Database, _ body: (Note) throws -> Void) throws {
        try SourceTable.forEach(db) { row in
            let id = AssetName(bytes: row.id.bytes)
            try body(Note(id: id, stamp: row.stamp, fileID: row.fileID, isDeclined: row.state == .declined))
        }
    }

    /// What is remembered of some originals, without those that were never read.
    ///
    /// - Throws: the database's error.
    public static func notes(of ids: [AssetName], _ db: Database) throws -> [AssetName: Note] {
        let rows = try SourceTable.rows(ids.map(\.source), db).values.map { row in
            Note(
                id: AssetName(bytes: row.id.bytes), stamp: row.stamp, fileID: row.fileID,
                isDeclined: row.state == .declined)
        }
        return Dictionary(rows.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
    }

    /// Notes that an original is not to be sent again because its record was deleted, while its file stays for another
    /// record. Where the file goes as well, that is noted by itself.
    ///
    /// - Returns: whether it was backed up, and not declined before.
    /// - Throws: the database's error.
    @discardableResult
    public static func decline(_ id: AssetName, _ db: Database) throws -> Bool {
        try SourceTable.decline(id.source, db)
    }

    /// Forgets an original, so that the next backup reads it as a new one.
    ///
    /// - Returns: whether anything was remembered.
    /// - Throws: the database's error.
    @discardableResult
    public static func forget(_ id: AssetName, _ db: Database) throws -> Bool {
        try SourceTable.remove(id.source, db)
    }

    /// Remembers an original that an app has attached by itself, as earlier versions of it did.
    ///
    /// - Throws: the database's error.
    public static func remember(_ id: AssetName, stamp: String, _ file: FileData, _ db: Database) throws {
        try SourceTable.save(
            SourceRow(
                id: id.source, stamp: stamp, byteCount: file.byteCount, sha256: file.sha256, fileID: file.id), db)
    }
}
