import Foundation
import GRDB
import LFSDatabase
import LFSFiles
import LFSSystem

/// An open `cache.sqlite`, and the files of its large entries.
final class CacheStore: Sendable {
    /// The largest content that is stored in the database, in bytes. Up to this size, rows are faster to read than
    /// files and take less space.
    ///
    /// Source: SQLite, "Internal Versus External BLOBs" (intern-v-extern-blob.html) and "35% Faster Than The
    /// Filesystem".
    static let largestRow = 64 << 10
    /// The maximum number of entries that are read at once.
    private static let readerCount = 4

    /// The result of a lookup.
    enum Lookup: Sendable {
        case nothing
        case content(Data, tags: [CacheTag])
        /// An entry whose checksum does not match.
        case damaged(EntryTable.Lookup)
    }

    /// The result of a write: the entries that it evicted, and the files to delete.
    struct Outcome: Sendable {
        /// True if the entry is on the disk now.
        var isKept = false
        var evicted: [CacheKey] = []
        var files: [FileID] = []
    }

    let gate = TaskDrain()
    /// The id under which this opening of the cache counts its removals, apart from those of other openings.
    private let opening = FileID.make()
    private let folder: CacheFolder
    private let pool: DatabasePool
    private let runner: BackgroundRunner
    /// The threads of the reading connections, one for each. The pool is separate, so that the slow disk of another
    /// cache does not delay this one.
    private let readers = BlockingPool(width: readerCount)

    private let failures: FailureLog

    private init(_ folder: CacheFolder, pool: DatabasePool, failures: FailureLog) {
        self.folder = folder
        self.pool = pool
        self.failures = failures
        runner = BackgroundRunner(pool)
    }

    // MARK: Opening

    /// Opens the database and creates it if it is missing. Blocks the thread.
    ///
    /// - Throws: ``StoreFault`` when the file is not a database of this cache, and database errors.
    static func open(
        _ folder: CacheFolder, identity: CacheIdentity, isAlone: Bool, failures: FailureLog
    ) throws -> CacheStore {
        try requireFile(folder)
        let pool = try DatabasePool(path: folder.databasePath, configuration: configuration)
        do {
            guard try findOrMake(pool, identity: identity, isAlone: isAlone) == .current(identity) else {
                throw StoreFault.other
            }
            return CacheStore(folder, pool: pool, failures: failures)
        } catch {
            try pool.close()
            throw error
        }
    }

    /// Creates the file if it is missing. SQLite would create it with other permissions.
    private static func requireFile(_ folder: CacheFolder) throws {
        let name = CacheFolder.databaseName
        if let status = try folder.directory.status(of: name) {
            if status.isDirectory { throw StoreFault.folder }
            guard status.isSolelyOurs else { throw StoreFault.notOurs }
            return
        }
        do throws(SystemError) {
            _ = try folder.directory.create(name)
        } catch {
            // Another process may have created it in the meantime.
            if !error.isExisting { throw error }
        }
    }

    private static func findOrMake(
        _ pool: DatabasePool, identity: CacheIdentity, isAlone: Bool
    ) throws -> CacheSchema.Lookup {
        try pool.write { db in
            let found = try CacheSchema.find(db)
            if found == .new {
                try CacheSchema.create(db, identity)
                return .current(identity)
            }
            if isAlone, found == .current(identity) {
                try EntryTable.countAnew(db)
                // No other opening exists, so no load needs these counts.
                try CacheRemovalTable.removeAll(db)
            }
            return found
        }
    }

    private static var configuration: Configuration {
        var configuration = Configuration()
        configuration.label = "lfs.cache"
        configuration.busyMode = .timeout(5)
        configuration.maximumReaderCount = readerCount
        configuration.prepareDatabase { db in
            // Any program may have written the file that is read. See sqlite.org/security.html.
            try db.execute(sql: "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON")
            guard !db.configuration.readonly else { return }
            // SQLite accepts this only for a database without tables. It lets a cleared cache return its disk space.
            try db.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_size_limit = 4194304")
        }
        return configuration
    }

    /// Waits for all operations in progress, writes the last uses and closes the database.
    func close(_ uses: [(kind: CacheKind, names: [String])]) async throws {
        await gate.close()
        let result = await Result.catching { [runner] in
            guard uses.contains(where: { !$0.names.isEmpty }) else { return }
            try await runner.write { db in for (kind, names) in uses { try EntryTable.use(names, of: kind, db) } }
        }
        try await BlockingPool.shared.run { _ in try self.closeNow() }
        try result.get()
    }

    /// Closes the database. No operation may be in progress. Blocks the thread.
    func closeNow() throws {
        // GRDB closes a read-only connection last, which would leave the WAL in place.
        let result = Result { try pool.writeWithoutTransaction(Self.emptyLog) }
        try pool.close()
        try result.get()
    }

    /// Moves the WAL into the database and truncates both to what they need.
    private static func emptyLog(_ db: Database) throws {
        do {
            _ = try db.checkpoint(.truncate)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
            // Other connections use the WAL. The last process that closes the database moves it.
        }
    }

    // MARK: Reading

    /// Reads an entry and verifies its checksum.
    ///
    /// - Returns: the result of the lookup, and the number of removals by other openings of the cache up to now.
    func find(_ key: CacheKey) async throws -> (found: Lookup, removalsElsewhere: Int64) {
        // One thread reads from the row to the last byte, because waking another thread takes longer than the read.
        try await readers.run { _ in try self.findNow(key) }
    }

    private func findNow(_ key: CacheKey) throws -> (found: Lookup, removalsElsewhere: Int64) {
        var last: EntryTable.Lookup?
        while true {
            let (row, removals) = try pool.read { db in
                (try EntryTable.find(key, db), try CacheRemovalTable.count(except: opening, db))
            }
            guard let row else { return (.nothing, removals) }
            if let content = try content(of: row), content.count == row.byteCount,
                StoredEntry.checksum(key, tags: row.tags, content: content) == row.checksum
            {
                return (.content(content, tags: row.tags.compactMap(CacheTag.init(stored:))), removals)
            }
            // Another process may have replaced the row and deleted its file since the row was read.
            if let last, last.isSame(as: row) { return (.damaged(row), removals) }
            last = row
        }
    }

    /// Returns true if there is an entry, valid or damaged.
    func contains(_ key: CacheKey) async throws -> Bool {
        try await runner.readThroughCancellation { db in try EntryTable.find(key, db) != nil }
    }

    private func content(of row: EntryTable.Lookup) throws -> Data? {
        guard let id = row.file else { return row.content }
        guard row.byteCount >= 0, let file = try folder.open(id, byteCount: row.byteCount) else { return nil }
        return try file.content(row.byteCount)
    }

    // MARK: Writing

    /// Writes an entry in place of an existing one with the same key, and evicts entries to make room for it. An entry
    /// above ``CacheLimit/largestEntry`` is not written, but the existing one is removed.
    ///
    /// - Parameters:
    ///   - removals: the number of removals by other openings before the content was loaded. If the number has changed,
    ///     the content may be derived from removed data, so nothing is written. Nil for content that was not loaded.
    ///   - mayKeep: called within the transaction. If it returns false, nothing is written.
    ///   - uses: returns the entries of the kind that were used since its last call. Called when entries have to be
    ///     evicted.
    func store(
        _ entry: StoredEntry, limit: CacheLimit, loadedSince removals: Int64?,
        mayKeep: @escaping @Sendable () -> Bool, uses: @escaping @Sendable () -> [String]
    ) async throws -> Outcome {
        let byteCount = entry.content.count
        let fits = byteCount <= limit.largestEntry
        let file = fits && byteCount > Self.largestRow ? FileID.make() : nil
        if let file {
            try await BlockingPool.shared.run { [folder] _ in
                try entry.content.withUnsafeBytes { bytes in try folder.write(bytes, as: file) }
            }
        }
        // The runner may run the transaction twice, but the closure returns the uses only once.
        let uses = AsyncLazy(uses)
        let result = await Result.catching { [runner, opening] in
            try await runner.write { db in
                guard mayKeep() else { return Outcome() }
                if let removals, try CacheRemovalTable.count(except: opening, db) != removals { return Outcome() }
                var outcome = Outcome()
                outcome.files = try EntryTable.remove(.key(entry.key), db)
                guard fits else { return outcome }
                let kind = entry.key.kind
                if try !EntryTable.hasRoom(for: byteCount, kind, limit: limit, db) {
                    try EntryTable.use(uses.value, of: kind, db)
                    let gone = try EntryTable.evict(for: byteCount, kind, limit: limit, db)
                    outcome.evicted = gone.keys
                    outcome.files += gone.files
                }
                try EntryTable.insert(entry, file: file, db)
                outcome.isKept = true
                return outcome
            }
        }
        switch result {
        case .success(let outcome):
            await remove(outcome.files + (outcome.isKept ? [] : [file].compactMap(\.self)))
            return outcome
        case .failure(let error):
            await remove([file].compactMap(\.self))
            throw error
        }
    }

    /// Evicts entries that exceed a limit.
    func shrink(_ kind: CacheKind, to limit: CacheLimit, uses: @escaping @Sendable () -> [String]) async throws
        -> [CacheKey]
    {
        let uses = AsyncLazy(uses)
        let gone = try await runner.write { db in
            if try EntryTable.hasRoom(for: nil, kind, limit: limit, db) {
                return (keys: [CacheKey](), files: [FileID]())
            }
            try EntryTable.use(uses.value, of: kind, db)
            return try EntryTable.evict(for: nil, kind, limit: limit, db)
        }
        await remove(gone.files)
        return gone.keys
    }

    /// Removes entries.
    func remove(_ selection: Selection) async throws {
        let files = try await runner.write { [opening] db in
            try CacheRemovalTable.add(opening, db)
            return try EntryTable.remove(selection, db)
        }
        await remove(files)
        switch selection {
        case .all, .kind:
            try await runner.withWriter { db in
                try db.execute(sql: "PRAGMA incremental_vacuum")
                // Otherwise the deleted rows would take the same space in the WAL.
                try Self.emptyLog(db)
            }
        case .key, .tags: break
        }
    }

    /// Removes an entry whose checksum does not match.
    func remove(_ damaged: EntryTable.Lookup) async throws {
        let files = try await runner.write { db in try EntryTable.remove(damaged, db) }
        await remove(files)
    }

    func totals() async throws -> [CacheKind: (count: Int, byteCount: Int)] {
        try await runner.readThroughCancellation { db in try EntryTable.totals(db) }
    }

    // MARK: Files

    /// Removes files whose rows are deleted. If a file cannot be removed, the next exclusive opening of the folder
    /// removes it.
    private func remove(_ files: [FileID]) async {
        if files.isEmpty { return }
        let waiter = Waiter<Void>()
        BlockingPool.shared.start { [folder, failures] in
            for file in files {
                do { try folder.remove(file) } catch {
                    failures.note("a file of the cache could not be removed", error: error)
                }
            }
            waiter.resume(returning: ())
        }
        await waiter.wait()
    }

    /// Removes files that no entry refers to, such as those that a killed process leaves. The caller must hold the
    /// exclusive lock. Blocks the thread.
    func sweep() throws {
        try pool.read { db in
            var failure: (any Error)?
            try folder.removeFiles { file in
                do {
                    return try failure == nil && !EntryTable.names(file, db)
                } catch {
                    failure = error
                    return false
                }
            }
            if let failure { throw failure }
        }
    }
}

/// The reason why the content of the folder is not this cache's database.
enum StoreFault: Error {
    /// The database's name belongs to a link or to a file of another user.
    case notOurs
    /// The database's name belongs to a folder, which is never removed.
    case folder
    /// The database has another version, belongs to another database, or is older than a reset.
    case other

    /// Returns true if an error means that the database is permanently unusable, rather than unreadable at the moment.
    static func isDamage(_ error: any Error) -> Bool {
        if let fault = error as? StoreFault { return fault != .folder }
        guard let error = error as? DatabaseError else { return false }
        if error.extendedResultCode == .SQLITE_IOERR_SHORT_READ { return true }
        // The SQL of this module is valid and violates no constraint. These errors mean that the schema or an index is
        // damaged.
        return [.SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_ERROR, .SQLITE_CONSTRAINT, .SQLITE_MISMATCH, .SQLITE_FORMAT]
            .contains(error.resultCode)
    }
}

extension Descriptor {
    /// Returns the bytes of a file of the given size, or nil if the file is shorter.
    fileprivate func content(_ byteCount: Int) throws(SystemError) -> Data? {
        var content = Data(count: byteCount)
        let result = content.withUnsafeMutableBytes { buffer in
            Result { () throws(SystemError) in
                var count = 0
                while count < buffer.count {
                    let next = try read(
                        into: UnsafeMutableRawBufferPointer(rebasing: buffer[count...]), at: Int64(count))
                    if next == 0 { break }
                    count += next
                }
                return count
            }
        }
        return try result.get() == byteCount ? content : nil
    }
}
