import Foundation
import GRDB
import LFSDatabase
import LFSFiles
import LFSSystem

/// One open `cache.sqlite`, and the files of its large entries.
final class CacheStore: Sendable {
    /// Content up to this size is in the database: there it is read faster than from a file of its own, and takes less
    /// room.
    ///
    /// Source: SQLite, "Internal Versus External BLOBs" (intern-v-extern-blob.html) and "35% Faster Than The
    /// Filesystem".
    static let largestRow = 64 << 10
    /// How many entries are read at once.
    private static let readerCount = 4

    /// What a look-up has found.
    enum Found: Sendable {
        case nothing
        case content(Data, tags: [CacheTag])
        /// An entry that does not agree with its checksum.
        case damaged(EntryTable.Found)
    }

    /// What a write has taken away.
    struct Outcome: Sendable {
        /// Whether the entry is on the disk now.
        var isKept = false
        var evicted: [CacheKey] = []
        var files: [FileID] = []
    }

    let gate = OpenGate()
    /// Tells this opening's removals from those of others.
    private let opening = FileID.make()
    private let folder: CacheFolder
    private let pool: DatabasePool
    private let runner: BackgroundRunner
    /// As many threads as connections that read, and its own: the slow disk of another cache holds nobody up here.
    private let readers = BlockingPool(width: readerCount)

    private let failures: FailureLog

    private init(_ folder: CacheFolder, _ pool: DatabasePool, _ failures: FailureLog) {
        (self.folder, self.pool, self.failures) = (folder, pool, failures)
        runner = BackgroundRunner(pool)
    }

    // MARK: Opening

    /// Opens the database and makes it if it is missing. Blocks the thread.
    ///
    /// - Throws: ``StoreFault`` when it is no database of this cache, the database's errors.
    static func open(
        _ folder: CacheFolder, _ identity: CacheIdentity, isAlone: Bool, _ failures: FailureLog
    ) throws -> CacheStore {
        try requireFile(folder)
        let pool = try DatabasePool(path: folder.databasePath, configuration: configuration)
        do {
            guard try findOrMake(pool, identity, isAlone: isAlone) == .current(identity) else { throw StoreFault.other }
            return CacheStore(folder, pool, failures)
        } catch {
            try pool.close()
            throw error
        }
    }

    /// Makes the file if it is missing, since SQLite would make it with another mode.
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
            // Another process may have made it just now.
            if !error.isExisting { throw error }
        }
    }

    private static func findOrMake(
        _ pool: DatabasePool, _ identity: CacheIdentity, isAlone: Bool
    ) throws -> CacheSchema.Found {
        try pool.write { db in
            let found = try CacheSchema.find(db)
            if found == .new {
                try CacheSchema.create(db, identity)
                return .current(identity)
            }
            if isAlone, found == .current(identity) {
                try EntryTable.countAnew(db)
                // Nobody loads.
                try RemovalTable.removeAll(db)
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
            // What is read may have been written by anybody: see sqlite.org/security.html.
            try db.execute(sql: "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON")
            guard !db.configuration.readonly else { return }
            // Only a database without tables takes it. With it, a cache that is cleared gives its room back.
            try db.execute(sql: "PRAGMA auto_vacuum = INCREMENTAL; PRAGMA journal_size_limit = 4194304")
        }
        return configuration
    }

    /// Waits for all that is under way, writes the last uses and closes the database.
    func close(_ uses: [(kind: CacheKind, names: [String])]) async throws {
        await gate.close()
        let result = await Result.catching { [runner] in
            guard uses.contains(where: { !$0.names.isEmpty }) else { return }
            try await runner.write { db in for (kind, names) in uses { try EntryTable.use(names, of: kind, db) } }
        }
        try await BlockingPool.shared.run { _ in try self.closeNow() }
        try result.get()
    }

    /// Closes the database, which nobody uses. Blocks the thread.
    func closeNow() throws {
        let result = Result {
            do {
                // The log goes into the database: GRDB closes a connection last that can only read, and that leaves it.
                try pool.writeWithoutTransaction { db in _ = try db.checkpoint(.truncate) }
            } catch let error as DatabaseError where error.resultCode == .SQLITE_BUSY {
                // Others have it open, and the last one does it.
            }
        }
        try pool.close()
        try result.get()
    }

    // MARK: Reading

    /// Reads an entry and holds it against its checksum.
    ///
    /// - Returns: what was found, and what other processes had removed before.
    func find(_ key: CacheKey) async throws -> (found: Found, removalsElsewhere: Int64) {
        // On one thread from the row to the last byte: to wake another one takes longer than to read.
        try await readers.run { _ in try self.findNow(key) }
    }

    private func findNow(_ key: CacheKey) throws -> (found: Found, removalsElsewhere: Int64) {
        var last: EntryTable.Found?
        while true {
            let (row, removals) = try pool.read { db in
                (try EntryTable.find(key, db), try RemovalTable.count(except: opening, db))
            }
            guard let row else { return (.nothing, removals) }
            if let content = try content(of: row), content.count == row.byteCount,
                StoredEntry.checksum(key, tags: row.tags, content) == row.checksum
            {
                return (.content(content, tags: row.tags.compactMap(CacheTag.init(stored:))), removals)
            }
            // Its file may have gone with the row, which another one has replaced meanwhile.
            if let last, last.isSame(as: row) { return (.damaged(row), removals) }
            last = row
        }
    }

    /// Whether there is an entry, right or damaged.
    func contains(_ key: CacheKey) async throws -> Bool {
        try await runner.readThroughCancellation { db in try EntryTable.find(key, db) != nil }
    }

    private func content(of row: EntryTable.Found) throws -> Data? {
        guard let id = row.file else { return row.content }
        guard row.byteCount >= 0, let file = try folder.open(id, byteCount: row.byteCount) else { return nil }
        return try file.content(row.byteCount)
    }

    // MARK: Writing

    /// Puts an entry in the place of another one with its key, and evicts what has to go for it.
    ///
    /// - Parameters:
    ///   - removals: what other processes had removed before it was loaded: with others since, it may be made from what
    ///     was taken out, and nothing changes. Nil for a content that was not loaded.
    ///   - mayKeep: asked within the transaction; when the answer is no, nothing changes.
    ///   - uses: which entries of the kind were used since this was asked last. Asked when some have to go.
    func store(
        _ entry: StoredEntry, _ limit: CacheLimit, loadedSince removals: Int64?,
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
        // The transaction may run twice, and they are given once.
        let uses = Once(uses)
        let result = await Result.catching { [runner, opening] in
            try await runner.write { db in
                guard mayKeep() else { return Outcome() }
                if let removals, try RemovalTable.count(except: opening, db) != removals { return Outcome() }
                var outcome = Outcome()
                outcome.files = try EntryTable.remove(.key(entry.key), db)
                guard fits else { return outcome }
                let kind = entry.key.kind
                if try !EntryTable.hasRoom(for: byteCount, kind, limit, db) {
                    try EntryTable.use(uses.value, of: kind, db)
                    let gone = try EntryTable.evict(for: byteCount, kind, limit, db)
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

    /// Evicts what is above a limit.
    func shrink(_ kind: CacheKind, to limit: CacheLimit, uses: @escaping @Sendable () -> [String]) async throws
        -> [CacheKey]
    {
        let uses = Once(uses)
        let gone = try await runner.write { db in
            if try EntryTable.hasRoom(for: nil, kind, limit, db) { return (keys: [CacheKey](), files: [FileID]()) }
            try EntryTable.use(uses.value, of: kind, db)
            return try EntryTable.evict(for: nil, kind, limit, db)
        }
        await remove(gone.files)
        return gone.keys
    }

    /// Takes entries out.
    func remove(_ selection: Selection) async throws {
        let files = try await runner.write { [opening] db in
            try RemovalTable.add(opening, db)
            return try EntryTable.remove(selection, db)
        }
        await remove(files)
        switch selection {
        case .all, .kind: try await runner.withWriter { db in try db.execute(sql: "PRAGMA incremental_vacuum") }
        case .key, .tags: break
        }
    }

    /// Takes out an entry that does not agree with its checksum.
    func remove(_ damaged: EntryTable.Found) async throws {
        let files = try await runner.write { db in try EntryTable.remove(damaged, db) }
        await remove(files)
    }

    func totals() async throws -> [CacheKind: (count: Int, byteCount: Int)] {
        try await runner.readThroughCancellation { db in try EntryTable.totals(db) }
    }

    // MARK: Files

    /// Removes files whose rows are gone. One that stays is removed by the next to have the folder alone.
    private func remove(_ files: [FileID]) async {
        if files.isEmpty { return }
        let waiter = Waiter<Void>()
        BlockingPool.shared.start { [folder, failures] in
            for file in files {
                do { try folder.remove(file) } catch { failures.note("a file of the cache stays", error) }
            }
            waiter.resume(returning: ())
        }
        await waiter.wait()
    }

    /// Removes files that no entry names, as a kill leaves them. Only for the holder of the exclusive lock. Blocks the
    /// thread.
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

/// Why what is in the folder is not this cache's database.
enum StoreFault: Error {
    /// A link, or a file of somebody else, has its name.
    case notOurs
    /// A folder has its name, and is never removed.
    case folder
    /// It is of another version, of another database, or of before a reset.
    case other

    /// Whether an error says that the database is of no use any more, rather than that it cannot be read just now.
    static func isDamage(_ error: any Error) -> Bool {
        if let fault = error as? StoreFault { return fault != .folder }
        guard let error = error as? DatabaseError else { return false }
        if error.extendedResultCode == .SQLITE_IOERR_SHORT_READ { return true }
        // Our own SQL has no errors and breaks no constraint: with such an answer, the schema or an index is damaged.
        return [.SQLITE_CORRUPT, .SQLITE_NOTADB, .SQLITE_ERROR, .SQLITE_CONSTRAINT, .SQLITE_MISMATCH, .SQLITE_FORMAT]
            .contains(error.resultCode)
    }
}

extension Descriptor {
    /// The bytes of a file of that size; nil when it has fewer.
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
