import Foundation
import GRDB
import LFSStorage

/// Keeps a copy of the database on the storage, where that was chosen: the table `uploader_storage` remembers it.
struct DatabaseSaver: Sendable {
    let database: any DatabaseWriter
    let storage: any RemoteStorage
    /// Runs as something of it gets done.
    let onAdvance: @Sendable () -> Void

    /// What a run does about it.
    enum Outcome: Sendable {
        /// - Parameter kept: why older copies could not be removed; nil when they were.
        case saved(byteCount: Int64, kept: String?)
        case unchanged
        /// Somebody has chosen not to.
        case notWanted
        /// Nobody has chosen yet.
        case undecided
    }

    /// Remembers whether copies are kept.
    ///
    /// - Throws: the database's error.
    func choose(_ choice: Bool) async throws {
        try await database.write { db in
            try db.execute(sql: "UPDATE \(DocumentSchema.ownTable) SET savesDatabase = ?", arguments: [choice])
        }
    }

    /// - Throws: `StorageError`, ``UploaderError``, the database's error.
    func run() async throws -> Outcome {
        let (memory, state, id) = try await database.read { db in
            let memory = try Memory.fetch(db)
            // All rows are read for it.
            let state = memory.isChosen == true ? try Self.state(db) : ""
            return (memory, state, try String.fetchOne(db, sql: "SELECT namespace FROM lfs_state"))
        }
        guard let isChosen = memory.isChosen, let id else { return .undecided }
        guard isChosen else { return .notWanted }
        guard memory.savedState != state else { return .unchanged }
        let byteCount = try await save(id)
        // What another run has saved meanwhile may be newer or older: then the next one saves again.
        try await database.write { db in
            try db.execute(
                sql: """
                    UPDATE \(DocumentSchema.ownTable)
                    SET savedState = CASE WHEN savedState IS ?1 THEN ?2 END, savedAt = ?3
                    """,
                arguments: [memory.savedState, state, Date().timeIntervalSince1970])
        }
        do {
            try await RecoveryCopies(storage: storage).prune(id)
        } catch let error as StorageError {
            return .saved(byteCount: byteCount, kept: error.message)
        }
        return .saved(byteCount: byteCount, kept: nil)
    }

    private func save(_ id: String) async throws -> Int64 {
        let parent = FileManager.default.temporaryDirectory
        sweep(parent)
        let folder = parent.appendingPathComponent(Self.prefix + UUID().uuidString)
        // Nobody else is to read the names in it.
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        defer {
            do { try FileManager.default.removeItem(at: folder) } catch {
                Console.message("uploader: \(folder.path) is left and can be removed: \(Words.of(error))")
            }
        }
        let (copy, packed) = (folder.appendingPathComponent("copy"), folder.appendingPathComponent("copy.gz"))
        let time = Date()
        onAdvance()
        do { try await database.vacuum(into: copy.path) } catch let error as DatabaseError
            where error.resultCode == .SQLITE_FULL
        {
            throw UploaderError("the folder for temporary files is full: \(parent.path)")
        }
        onAdvance()
        try GzipFile.compress(copy, to: packed)
        onAdvance()
        try await RecoveryCopies(storage: storage).store(packed, of: id, at: time, onBytes: onAdvance)
        return try FileManager.default.attributesOfItem(atPath: packed.path)[.size] as? Int64 ?? 0
    }

    private static let prefix = "uploader-save-"

    /// Removes what runs have left that were killed: copies of the whole database, a day old and more.
    private func sweep(_ parent: URL) {
        let keys: Set<URLResourceKey> = [.contentModificationDateKey]
        // A folder that cannot be listed, or one of somebody else's, is no reason to save nothing.
        let folders = try? FileManager.default.contentsOfDirectory(
            at: parent, includingPropertiesForKeys: Array(keys))
        for folder in folders ?? [] where folder.lastPathComponent.hasPrefix(Self.prefix) {
            let date = try? folder.resourceValues(forKeys: keys).contentModificationDate
            if let date, Date().timeIntervalSince(date) > 86_400 { try? FileManager.default.removeItem(at: folder) }
        }
    }

    /// What changes with every file that is added, uploaded, replaced or removed.
    private static func state(_ db: Database) throws -> String {
        try String.fetchOne(
            db,
            sql: """
                SELECT (SELECT count(*) || ':' || coalesce(max(updateID), '') FROM lfs_file) || ':'
                    || (SELECT count(*) || ':' || coalesce(max(id), '') || ':' || coalesce(max(addedAt), '')
                        FROM uploader_document)
                    || ':' || \(MovedTable.state)
                    || ':' || (SELECT coalesce(sum(entryChanges), 0) FROM \(DocumentSchema.ownTable))
                """) ?? ""
    }

    /// What is remembered of it.
    struct Memory: Sendable {
        /// Nil while nobody has said.
        var isChosen: Bool?
        var savedState: String?
        /// When the last copy was stored.
        var savedAt: Date?

        static func fetch(_ db: Database) throws -> Memory {
            var memory = Memory()
            guard try DocumentSchema.has("savesDatabase", db) else { return memory }
            let sql = "SELECT savesDatabase, savedState, savedAt FROM \(DocumentSchema.ownTable)"
            if let row = try Row.fetchOne(db, sql: sql) {
                memory.isChosen = Bool.fromDatabaseValue(row[0])
                memory.savedState = String.fromDatabaseValue(row[1])
                if let time = Double.fromDatabaseValue(row[2]) { memory.savedAt = Date(timeIntervalSince1970: time) }
            }
            return memory
        }
    }
}
