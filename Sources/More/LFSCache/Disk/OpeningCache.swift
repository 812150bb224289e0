import GRDB
import LFSFiles
import LFSSystem

/// Opens the folder of a cache, and starts over if its content is unusable.
///
/// Only the holder of the exclusive lock removes anything. Every process that has the cache open holds the lock shared.
enum OpeningCache {
    /// The result of an attempt to start over.
    enum Replacement: Sendable {
        case open(CacheStore)
        /// Everything is removed, but no new database could be created.
        case emptied(any Error)
        /// Other processes have the cache open.
        case busy
    }

    /// - Parameter identity: read while the lock is held, because a reset takes the lock before it changes anything.
    /// - Throws: ``CacheError/Code/inUse`` when other processes have the folder open for another database, or from
    ///   before a reset, and errors of the closure.
    static func open(
        _ folder: CacheFolder, failures: FailureLog, identity: () async throws -> CacheIdentity
    ) async throws -> DiskLayer {
        let isAlone = try await BlockingPool.shared.run { _ in try lock(folder) }
        let identity = try await identity()
        let store = try await BlockingPool.shared.run { _ in
            isAlone
                ? try openAlone(folder, identity: identity, failures: failures)
                : try openBeside(folder, identity: identity, failures: failures)
        }
        return DiskLayer(folder, identity: identity, store: store, failures: failures)
    }

    /// Takes the lock, exclusively if no other process holds it. Returns true if the lock is exclusive.
    private static func lock(_ folder: CacheFolder) throws(SystemError) -> Bool {
        if try folder.lock.tryLock(.exclusive) { return true }
        try folder.lock.lock(.shared)
        return false
    }

    /// Removes everything and opens an empty database, unless other processes have the cache open. Blocks the thread.
    ///
    /// The damage is recorded first. If this process ends before the database is removed, the next one starts over.
    static func replace(
        _ folder: CacheFolder, identity: CacheIdentity, failures: FailureLog
    ) throws -> Replacement {
        do {
            try folder.noteDamage()
        } catch {
            failures.note("the damage of the cache could not be recorded", error: error)
        }
        guard try folder.lock.tryLock(.exclusive) else {
            // A conversion from shared to exclusive releases the shared lock first. See flock(2).
            try folder.lock.lock(.shared)
            return .busy
        }
        let result = Result { try folder.removeEverything() }
        let opened = result.flatMap {
            Result { try CacheStore.open(folder, identity: identity, isAlone: true, failures: failures) }
        }
        try folder.lock.lock(.shared)
        try result.get()
        switch opened {
        case .success(let store): return .open(store)
        case .failure(let error): return .emptied(error)
        }
    }

    /// Opens the database for the holder of the exclusive lock, and makes the lock shared afterwards. Returns nil when
    /// no database can be opened.
    private static func openAlone(
        _ folder: CacheFolder, identity: CacheIdentity, failures: FailureLog
    ) throws -> CacheStore? {
        let result = Result { try openCurrent(folder, identity: identity, failures: failures) }
        // This also follows a failure, because no other process can open the folder while the lock is exclusive.
        try folder.lock.lock(.shared)
        switch result {
        case .success(let store): return store
        case .failure(let error as CacheError): throw error
        case .failure(let error):
            failures.note("the cache cannot be used, so all content is loaded", error: error)
            return nil
        }
    }

    private static func openCurrent(
        _ folder: CacheFolder, identity: CacheIdentity, failures: FailureLog
    ) throws -> CacheStore {
        if try folder.isDamaged() { try folder.removeEverything() }
        do {
            return try openSwept(folder, identity: identity, failures: failures)
        } catch let error where StoreFault.isDamage(error) {
            if case StoreFault.other = error {
            } else {
                failures.note("the cache is damaged and starts empty", error: error)
            }
            try folder.removeEverything()
            return try openSwept(folder, identity: identity, failures: failures)
        } catch StoreFault.folder {
            let path = folder.databasePath
            throw CacheError(.wrongFolder, message: "There is a folder at \(path). Remove it.", path: path)
        }
    }

    private static func openSwept(
        _ folder: CacheFolder, identity: CacheIdentity, failures: FailureLog
    ) throws -> CacheStore {
        let store = try CacheStore.open(folder, identity: identity, isAlone: true, failures: failures)
        do {
            try store.sweep()
            return store
        } catch {
            try store.closeNow()
            throw error
        }
    }

    /// Opens the database of a cache that other processes have open. Removes nothing for that reason.
    private static func openBeside(
        _ folder: CacheFolder, identity: CacheIdentity, failures: FailureLog
    ) throws -> CacheStore? {
        do {
            return try CacheStore.open(folder, identity: identity, isAlone: false, failures: failures)
        } catch StoreFault.other {
            let path = folder.directory.path
            throw CacheError(
                .inUse,
                message: """
                    The cache in \(path) is open for another database, or was opened before a reset. Close it there, \
                    or use another folder.
                    """,
                path: path)
        } catch {
            failures.note("the cache cannot be used, so all content is loaded", error: error)
            if StoreFault.isDamage(error) { try folder.noteDamage() }
            return nil
        }
    }
}
