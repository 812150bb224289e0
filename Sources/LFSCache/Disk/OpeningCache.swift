import GRDB
import LFSFiles
import LFSSystem

/// Opens the folder of a cache, and begins anew where what is in it is of no use.
///
/// Only the holder of the exclusive lock removes anything. All others who have the cache open hold it shared.
enum OpeningCache {
    /// What has come of an attempt to begin anew.
    enum Replacement: Sendable {
        case open(CacheStore)
        /// Everything is removed, and no new database could be made.
        case emptied(any Error)
        /// Others have it open.
        case busy
    }

    /// - Parameter identity: read when the lock is held, since a reset takes the lock before it changes anything.
    /// - Throws: ``CacheError/Code/inUse`` when others have the folder open for another database, or from before a
    ///   reset; what reading the identity throws.
    static func open(
        _ folder: CacheFolder, _ failures: FailureLog, identity: () async throws -> CacheIdentity
    ) async throws -> DiskLayer {
        let isAlone = try await BlockingPool.shared.run { _ in try lock(folder) }
        let identity = try await identity()
        let store = try await BlockingPool.shared.run { _ in
            isAlone ? try openAlone(folder, identity, failures) : try openBeside(folder, identity, failures)
        }
        return DiskLayer(folder, identity, store, failures)
    }

    /// Takes the lock, exclusively if nobody else has it. Returns whether that is so.
    private static func lock(_ folder: CacheFolder) throws(SystemError) -> Bool {
        if try folder.lock.tryLock(.exclusive) { return true }
        try folder.lock.lock(.shared)
        return false
    }

    /// Removes everything and opens an empty database, if nobody else has the cache open. Blocks the thread.
    ///
    /// The note of damage comes first: should this process end before the database is gone, the next begins anew.
    static func replace(
        _ folder: CacheFolder, _ identity: CacheIdentity, _ failures: FailureLog
    ) throws -> Replacement {
        do {
            try folder.noteDamage()
        } catch {
            failures.note("that the cache is damaged could not be noted", error)
        }
        guard try folder.lock.tryLock(.exclusive) else {
            // Making a shared lock exclusive gives up the shared one first; see flock(2).
            try folder.lock.lock(.shared)
            return .busy
        }
        let result = Result { try folder.removeEverything() }
        let opened = result.flatMap { Result { try CacheStore.open(folder, identity, isAlone: true, failures) } }
        try folder.lock.lock(.shared)
        try result.get()
        switch opened {
        case .success(let store): return .open(store)
        case .failure(let error): return .emptied(error)
        }
    }

    /// For the holder of the exclusive lock, which is shared afterwards. Nil when there is no database to be had.
    private static func openAlone(
        _ folder: CacheFolder, _ identity: CacheIdentity, _ failures: FailureLog
    ) throws -> CacheStore? {
        let result = Result { try openCurrent(folder, identity, failures) }
        // Also after a failure: what is locked exclusively nobody else can open.
        try folder.lock.lock(.shared)
        switch result {
        case .success(let store): return store
        case .failure(let error as CacheError): throw error
        case .failure(let error):
            failures.note("the cache cannot be used; everything is loaded", error)
            return nil
        }
    }

    private static func openCurrent(
        _ folder: CacheFolder, _ identity: CacheIdentity, _ failures: FailureLog
    ) throws -> CacheStore {
        if try folder.isDamaged() { try folder.removeEverything() }
        do {
            return try openSwept(folder, identity, failures)
        } catch let error where StoreFault.isDamage(error) {
            if case StoreFault.other = error {} else { failures.note("the cache is damaged and begins empty", error) }
            try folder.removeEverything()
            return try openSwept(folder, identity, failures)
        } catch StoreFault.folder {
            let path = folder.databasePath
            throw CacheError(.wrongFolder, "A folder has the name \(path). Remove it.", path: path)
        }
    }

    private static func openSwept(
        _ folder: CacheFolder, _ identity: CacheIdentity, _ failures: FailureLog
    ) throws -> CacheStore {
        let store = try CacheStore.open(folder, identity, isAlone: true, failures)
        do {
            try store.sweep()
            return store
        } catch {
            try store.closeNow()
            throw error
        }
    }

    /// For one that shares the cache with others, and so removes nothing.
    private static func openBeside(
        _ folder: CacheFolder, _ identity: CacheIdentity, _ failures: FailureLog
    ) throws -> CacheStore? {
        do {
            return try CacheStore.open(folder, identity, isAlone: false, failures)
        } catch StoreFault.other {
            let path = folder.directory.path
            throw CacheError(
                .inUse,
                """
                The cache in \(path) is open for another database, or since before a reset. Close it there, or name \
                another folder.
                """,
                path: path)
        } catch {
            failures.note("the cache cannot be used; everything is loaded", error)
            if StoreFault.isDamage(error) { try folder.noteDamage() }
            return nil
        }
    }
}
