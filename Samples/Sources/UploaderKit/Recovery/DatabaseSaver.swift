import Foundation
import GRDB
import LFSStorage

/// Keeps a copy of the database on the storage, where that was chosen: the table `uploader_storage` remembers it.
struct DatabaseSaver: Sendable {
    let database: any DatabaseWriter
    let storage: any RemoteStorage
    /// The path of the local store.
    let store: String
    /// Runs as something of it gets done.
    let onAdvance: @Sendable () -> Void

    /// What a run does about it.
    enum Outcome: Sendable {
        /// - Parameter kept: why older copies could not be removed; nil when they were.
        case saved(Saved, kept: String?)
        case unchanged
        /// Somebody has chosen not to.
        case notWanted
        /// Nobody has chosen yet.
        case undecided
    }

    /// A copy that was stored.
    struct Saved: Sendable {
        let databaseID: String
        let byteCount: Int64
        /// The time of the newest copy that another machine has saved since the last one of this machine.
        let other: Date?
        /// Whether the id has to be known to find the copy again.
        let needsID: Bool
        /// Whether it is the first one, and nothing shows who has made it.
        let lacksSeal: Bool
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
        let copies = RecoveryCopies(storage: storage)
        let stored = try await copies.list(of: id)
        let series = try await database.write { db in try CopySeries.begin(stored, at: Date(), db) }
        let byteCount = try await save(id, in: series)
        // What another run has saved meanwhile may be newer or older: then the next one saves again.
        try await database.write { db in
            try series.end(db)
            try db.execute(
                sql: """
                    UPDATE \(DocumentSchema.ownTable)
                    SET savedState = CASE WHEN savedState IS ?1 THEN ?2 END, savedAt = ?3
                    """,
                arguments: [memory.savedState, state, Date().timeIntervalSince1970])
        }
        let saved = Saved(
            databaseID: id, byteCount: byteCount, other: series.other?.date,
            needsID: series.isFirst && !copies.findsAll,
            lacksSeal: series.isFirst && CopySeal.environment == nil)
        do {
            try await copies.prune(id, of: series.writer)
        } catch let error as StorageError {
            return .saved(saved, kept: error.message)
        }
        return .saved(saved, kept: nil)
    }

    private func save(_ id: String, in series: CopySeries) async throws -> Int64 {
        let folder = try SavingFolder(in: store)
        try folder.sweep()
        let copy = "\(UUID().uuidString).sqlite"
        let packed = copy + ".gz"
        defer { for name in [copy, copy + "-journal", packed] { folder.discard(name) } }
        onAdvance()
        do { try await database.vacuum(into: folder.url(of: copy).path) } catch let error as DatabaseError
            where error.isForWantOfSpace
        {
            throw UploaderError("the disk is full, and a copy of the database has no room in \(folder.path)")
        }
        onAdvance()
        try GzipFile.compress(folder.url(of: copy), to: folder.url(of: packed))
        onAdvance()
        try await CopySeal.environment?.add(to: folder.url(of: packed), of: id, in: series)
        onAdvance()
        try await RecoveryCopies(storage: storage).store(
            folder.url(of: packed), of: id, in: series, onBytes: onAdvance)
        return try folder.byteCount(of: packed)
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
