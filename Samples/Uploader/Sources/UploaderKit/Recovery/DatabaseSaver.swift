import Foundation
import GRDB
import LFSStorage

/// The saving of a copy of the database to the storage, if the user has chosen that. The choice is in the table
/// `uploader_storage`.
struct DatabaseSaver: Sendable {
    let database: any DatabaseWriter
    let storage: any RemoteStorage
    /// The location of the storage, as the table records it.
    let location: String
    /// The path of the local store.
    let store: String
    /// True if the output of the run has room for a reminder to save the database.
    let reminds: Bool
    /// Called whenever there is progress.
    let onAdvance: @Sendable () -> Void

    /// The result of a run.
    enum Outcome: Sendable {
        /// The copy was saved.
        ///
        /// - Parameter kept: the reason why older copies could not be removed. Nil if they were removed.
        case saved(Saved, kept: String?)
        case unchanged
        /// The user has declined copies.
        case notWanted
        /// The user has not chosen yet.
        ///
        /// - Parameter isReminderDue: true once a week.
        case undecided(isReminderDue: Bool)
    }

    /// A copy on the storage.
    struct Saved: Sendable {
        let databaseID: String
        let byteCount: Int64
        /// The time of the newest copy that another machine has saved since the last one of this machine.
        let other: Date?
        /// True if the copy can only be found by its id.
        let needsID: Bool
        /// True if it is the first copy and has no authentication code.
        let lacksSeal: Bool
    }

    /// Stores the choice. After `false`, later copies need no passphrase.
    ///
    /// - Throws: the database's error.
    func choose(_ choice: Bool) async throws {
        try await database.write { db in
            try db.execute(
                sql: """
                    UPDATE \(DocumentSchema.ownTable)
                    SET savesDatabase = ?1, sealsCopies = CASE WHEN ?1 THEN sealsCopies END
                    """, arguments: [choice])
        }
    }

    /// Saves a copy if the user has chosen that, and the database has changed since the last copy.
    ///
    /// Once a copy had an authentication code, all later ones must have it. `recover` with the passphrase refuses a
    /// newest copy without it.
    ///
    /// - Throws: `StorageError`, ``UploaderError``, the database's error.
    func run() async throws -> Outcome {
        let (memory, state, id) = try await database.read { db in
            let memory = try Memory.fetch(db)
            // The state requires a read of all rows.
            let state = memory.isChosen == true ? try Self.state(db) : ""
            return (memory, state, try String.fetchOne(db, sql: "SELECT namespace FROM lfs_state"))
        }
        guard let isChosen = memory.isChosen, let id else {
            return .undecided(isReminderDue: reminds ? try await isReminderDue(at: Date()) : false)
        }
        guard isChosen else { return .notWanted }
        let seal = CopySeal.environment
        let isFirstSeal = seal != nil && !memory.sealsCopies
        guard memory.savedState != state || isFirstSeal else { return .unchanged }
        if seal == nil, memory.sealsCopies { throw Self.lackingPassphrase }
        let copies = RecoveryCopies(storage: storage)
        let stored = try await copies.list(of: id)
        let series = try await database.write { db in
            // Recorded before the copy is made, so that a recovered database requires the passphrase as well.
            if seal != nil { try db.execute(sql: "UPDATE \(DocumentSchema.ownTable) SET sealsCopies = TRUE") }
            return try CopySeries.begin(stored, at: Date(), db)
        }
        let byteCount = try await save(id, in: series, seal: seal)
        try await database.write { db in
            // A concurrent run may have saved a newer or an older state. In that case, the next run saves again. It may
            // also have changed the storage, which then has no copy yet.
            try db.execute(
                sql: """
                    UPDATE \(DocumentSchema.ownTable)
                    SET savedState = CASE WHEN savedState IS ?1 THEN ?2 END, savedAt = ?3 WHERE location = ?4
                    """,
                arguments: [memory.savedState, state, Date().timeIntervalSince1970, location])
            if db.changesCount > 0 { try series.end(db) }
        }
        let saved = Saved(
            databaseID: id, byteCount: byteCount, other: series.other?.date,
            needsID: series.isFirst && !copies.findsAll,
            lacksSeal: series.isFirst && seal == nil)
        do {
            try await copies.prune(id, of: series.writer)
        } catch let error as StorageError {
            return .saved(saved, kept: error.message)
        }
        return .saved(saved, kept: nil)
    }

    private static let lackingPassphrase = UploaderError(
        """
        earlier copies have an authentication code, and this one would have none. Set \(CopySeal.variable). To keep \
        copies without a code instead, push once with --no-save-database, and then with --save-database.
        """)

    /// Returns true if the last reminder is at least a week old, and records this one.
    private func isReminderDue(at now: Date) async throws -> Bool {
        try await database.write { db in
            let last = try Double.fetchOne(db, sql: "SELECT remindedAt FROM \(DocumentSchema.ownTable)")
            // A clock that was set back must not suppress reminders.
            if let last, abs(now.timeIntervalSince1970 - last) < 7 * 86_400 { return false }
            try db.execute(
                sql: "UPDATE \(DocumentSchema.ownTable) SET remindedAt = ?", arguments: [now.timeIntervalSince1970])
            return true
        }
    }

    private func save(_ id: String, in series: CopySeries, seal: CopySeal?) async throws -> Int64 {
        let folder = try SavingFolder(in: store)
        try folder.sweep()
        let copy = "\(UUID().uuidString).sqlite"
        let packed = copy + ".gz"
        defer { for name in [copy, copy + "-journal", packed] { folder.discard(name) } }
        onAdvance()
        do { try await database.vacuum(into: folder.url(of: copy).path) } catch let error as DatabaseError
            where error.isForWantOfSpace
        {
            throw UploaderError("the disk is full: there is no space for a copy of the database in \(folder.path)")
        }
        onAdvance()
        try GzipFile.compress(folder.url(of: copy), to: folder.url(of: packed))
        onAdvance()
        try await seal?.add(to: folder.url(of: packed), of: id, in: series)
        onAdvance()
        try await RecoveryCopies(storage: storage).store(
            folder.url(of: packed), of: id, in: series, onBytes: onAdvance)
        return try folder.byteCount(of: packed)
    }

    /// Returns true if the last copy on the storage has everything that a recovery needs.
    static func isSaved(_ db: Database) throws -> Bool {
        let memory = try Memory.fetch(db)
        return try memory.savedAt != nil && memory.savedState == state(db)
    }

    /// Returns a text that changes with every file that is added, uploaded, replaced or removed.
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

    /// The stored choice and state.
    struct Memory: Sendable {
        /// The choice. Nil before the first one.
        var isChosen: Bool?
        var savedState: String?
        /// The time when the last copy was stored.
        var savedAt: Date?
        /// True if an earlier copy has an authentication code.
        var sealsCopies = false

        static func fetch(_ db: Database) throws -> Memory {
            var memory = Memory()
            guard try DocumentSchema.has("savesDatabase", db) else { return memory }
            let seals = try DocumentSchema.has("sealsCopies", db) ? "sealsCopies" : "NULL"
            let sql = "SELECT savesDatabase, savedState, savedAt, \(seals) FROM \(DocumentSchema.ownTable)"
            if let row = try Row.fetchOne(db, sql: sql) {
                memory.isChosen = Bool.fromDatabaseValue(row[0])
                memory.savedState = String.fromDatabaseValue(row[1])
                memory.sealsCopies = Bool.fromDatabaseValue(row[3]) ?? false
                if let time = Double.fromDatabaseValue(row[2]) { memory.savedAt = Date(timeIntervalSince1970: time) }
            }
            return memory
        }
    }
}
