public import Foundation
public import GRDB
public import LFS

/// A journal in a database, whose pictures an `LFSManager` offloads in the background.
///
/// ```swift
/// let journal = try await DatabaseStorageService.open(at: file, options: LFSOptions(storage: storage))
/// try journal.lfs.start()  // or in a service group: ServiceGroup(services: [journal.lfs, server])
/// try await journal.saveRecord(record)
/// try await journal.close()
/// ```
///
/// The service has no state except the database and the manager, and no cache: every query uses an index. The rules of
/// ``FileStorageService`` for errors apply to all its calls.
public final class DatabaseStorageService: StreamingFileStorageService {
    /// The database, which an app may observe. Only this service may change its tables.
    public let database: any DatabaseWriter
    /// The manager that offloads the pictures. The app starts and stops it, and reads the state of each picture from
    /// it.
    public let lfs: LFSManager

    /// Creates a journal on a database that ``migrate(_:)`` has prepared, and on the manager that is open on it.
    public init(database: any DatabaseWriter, lfs: LFSManager) {
        self.database = database
        self.lfs = lfs
    }

    /// Opens a database file and a manager on it. A missing file is created, and so is its folder. No background work
    /// is started.
    ///
    /// - Throws: The errors of ``openDatabase(at:)`` and ``open(_:options:)``.
    public static func open(at file: URL, options: LFSOptions) async throws -> DatabaseStorageService {
        try await open(try await openDatabase(at: file), options: options)
    }

    /// Opens a manager on a database of ``openDatabase(at:)``.
    ///
    /// - Throws: ``FileStorageError/fileReadFailed(name:reason:)`` if the manager cannot be opened.
    public static func open(_ database: DatabasePool, options: LFSOptions) async throws -> DatabaseStorageService {
        do {
            let lfs = try await LFSManager.open(database, options: options)
            return DatabaseStorageService(database: database, lfs: lfs)
        } catch {
            throw FileStorageError.fileReadFailed(name: database.path, reason: .init(error))
        }
    }

    /// Opens a database file without a manager. A missing file is created, and so is its folder. An app can use this to
    /// read settings before a storage is known.
    ///
    /// The file gets mode 0600, also if it exists. Each commit is synced (`synchronous=FULL`), so that a saved record
    /// survives a power failure.
    ///
    /// - Throws: ``FileStorageError/directoryCreationFailed(path:reason:)`` for the folder.
    ///   ``FileStorageError/fileReadFailed(name:reason:)`` if the file is not a database.
    public static func openDatabase(at file: URL) async throws -> DatabasePool {
        let folder = file.deletingLastPathComponent()
        do {
            _ = try Directory.make(folder.path)
        } catch {
            throw FileStorageError.directoryCreationFailed(path: folder.path, reason: .init(error))
        }
        do {
            // No other user of this machine should read the database.
            try LFSManager.makePrivateDatabase(at: file.path)
            let database = try DatabasePool(path: file.path)
            // A pool sets this to NORMAL after the preparation of its configuration.
            try await database.writeWithoutTransaction { db in try db.execute(sql: "PRAGMA synchronous = FULL") }
            try migrate(database)
            guard try await !database.read(JournalSchema.migrator.hasBeenSuperseded) else {
                throw FileStorageError.fileReadFailed(
                    name: file.path, reason: "a newer version of the journal has written it, so update this version")
            }
            return database
        } catch let error as FileStorageError {
            throw error
        } catch {
            throw FileStorageError.fileReadFailed(name: file.path, reason: .init(error))
        }
    }

    /// Creates or updates the tables of the journal and of LFS.
    ///
    /// - Throws: The database's error.
    public static func migrate(_ database: any DatabaseWriter) throws { try JournalSchema.migrator.migrate(database) }

    /// Stops the manager and closes the database. Pending uploads continue after the journal is opened again.
    ///
    /// - Throws: The error that ended the manager's work earlier, and the database's error.
    public func close() async throws {
        try await lfs.stop()
        do {
            // After the checkpoint a copy of the main file alone is complete. An active reader prevents that.
            try await database.writeWithoutTransaction { db in try db.execute(sql: "PRAGMA wal_checkpoint(TRUNCATE)") }
        } catch let error as DatabaseError where error.resultCode == .SQLITE_MISUSE {
            return  // The database is already closed.
        }
        try database.close()
    }

    // MARK: Records

    public func loadRecords(from: Date, to: Date) async throws -> [TimeRecord] {
        guard from < to else { return [] }
        return try await records(.range(from: from, to: to))
    }

    public func loadRunningRecords() async throws -> [TimeRecord] { try await records(.running) }

    public func loadAllRecords() async throws -> [TimeRecord] { try await records(.all) }

    public func loadRecord(_ id: UUID) async throws -> TimeRecord {
        try await read("record \(id.text)") { db in try Self.record(id, db) }
    }

    public func saveRecord(_ record: TimeRecord) async throws { try await store(record, mustExist: false) }

    public func updateRecord(_ record: TimeRecord) async throws { try await store(record, mustExist: true) }

    /// Changes a record in one transaction. Values that another window or device has saved in the meantime are kept
    /// unless the closure changes them.
    ///
    /// - Returns: The changed record.
    /// - Throws: The errors of ``updateRecord(_:)``, and those of the closure.
    @discardableResult public func updateRecord(
        _ id: UUID, _ change: @escaping @Sendable (inout TimeRecord) throws -> Void
    ) async throws -> TimeRecord {
        try await write("record \(id.text)") { db in
            var record = try Self.record(id, db)
            try change(&record)
            try record.requireStorable()
            try Self.put(record, db)
            return record
        }
    }

    public func deleteRecord(_ record: TimeRecord) async throws {
        try await write("record \(record.id.text)") { db in
            guard try RecordTable.delete(record.id, db) else {
                throw FileStorageError.fileNotFound(name: record.id.text)
            }
        }
    }

    public func damagedRecords() async throws -> [DamagedRecord] {
        try await read("The database") { db in
            let lost = try Upload.all().damaged().fetchAll(db).compactMap { upload in
                try PictureTable.picture(of: upload.fileID, db).map { name in
                    DamagedRecord(name: name, reason: upload.reason ?? "Its bytes are lost or damaged.")
                }
            }
            return try Self.contents(.all, db).damaged + lost
        }
    }

    private func records(_ selection: RecordTable.Selection) async throws -> [TimeRecord] {
        try await read("The records") { db in try Self.contents(selection, db).records }
    }

    private func store(_ record: TimeRecord, mustExist: Bool) async throws {
        try record.requireStorable()
        try await write("record \(record.id.text)") { db in
            if try RecordTable.contains(record.id, db) {
                try Self.put(record, db)
            } else if mustExist {
                throw FileStorageError.fileNotFound(name: record.id.text)
            } else {
                try RecordTable.put(record, db)
            }
        }
    }

    /// Replaces the stored record. A damaged record is not overwritten.
    private static func put(_ record: TimeRecord, _ db: Database) throws {
        let stored = try Self.record(record.id, db)
        try RecordTable.put(record, db)
        try PictureTable.arrange(record.arrangedImages(stored: stored.images), of: record.id, db)
    }
}
