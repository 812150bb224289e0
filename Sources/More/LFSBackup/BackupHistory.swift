public import GRDB
public import LFS
import LFSDatabase

/// The notes that the database keeps about originals, for an app that changes its records.
public enum BackupHistory {
    /// The note about one original.
    public struct Note: Hashable, Sendable {
        /// The original.
        public let id: AssetName
        /// The stamp of the original when it was read.
        public let stamp: String
        /// The file of the original. For a declined original, the file that was deleted.
        public let fileID: FileData.ID?
        /// True if it was deleted on purpose.
        public let isDeclined: Bool
    }

    /// Calls a closure for each original that was read, in no particular order.
    ///
    /// - Throws: the database's error, and errors of the closure.
    public static func forEach(_ db: Database, _ body: (Note) throws -> Void) throws {
        try SourceTable.forEach(db) { row in
            let id = AssetName(bytes: row.id.bytes)
            try body(Note(id: id, stamp: row.stamp, fileID: row.fileID, isDeclined: row.state == .declined))
        }
    }

    /// Returns the notes about some originals. Originals that were never read are omitted.
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

    /// Marks an original as declined, so that it is not uploaded again. Call this when its record was deleted while its
    /// file remains for another record. If the file is deleted too, LFS marks the original automatically.
    ///
    /// - Returns: true if the original was backed up and not declined before.
    /// - Throws: the database's error.
    @discardableResult
    public static func decline(_ id: AssetName, _ db: Database) throws -> Bool {
        try SourceTable.decline(id.source, db)
    }

    /// Removes the note about an original, so that the next backup treats it as new.
    ///
    /// - Returns: true if there was a note.
    /// - Throws: the database's error.
    @discardableResult
    public static func forget(_ id: AssetName, _ db: Database) throws -> Bool {
        try SourceTable.remove(id.source, db)
    }

    /// Adds a note about an original that the app attached without a backup, for example in an earlier version.
    ///
    /// - Throws: the database's error.
    public static func remember(_ id: AssetName, stamp: String, file: FileData, _ db: Database) throws {
        try SourceTable.save(
            SourceRow(
                id: id.source, stamp: stamp, byteCount: file.byteCount, sha256: file.sha256, fileID: file.id), db)
    }
}
