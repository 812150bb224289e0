import Foundation
import LFSFiles
import LFSSystem
import Logging
import Synchronization

/// The entries on the disk. A failure to read or write only makes reads slower. A damaged database is replaced by an
/// empty one.
///
/// The mutex owns the reference to the open database. A replacement holds the permit.
final class DiskLayer: Sendable {
    private enum State {
        case open(CacheStore)
        /// The database cannot be used, and cannot be replaced at the moment.
        case resting
        case closed
    }

    let folder: CacheFolder
    private let identity: CacheIdentity
    private let failures: FailureLog
    private let state: Mutex<State>
    private let replacing = AsyncSemaphore(1)

    init(_ folder: CacheFolder, identity: CacheIdentity, store: CacheStore?, failures: FailureLog) {
        self.folder = folder
        self.identity = identity
        self.failures = failures
        state = Mutex(store.map(State.open) ?? .resting)
    }

    var isClosed: Bool { state.withLock { if case .closed = $0 { true } else { false } } }

    private var store: CacheStore? { state.withLock { if case .open(let store) = $0 { store } else { nil } } }

    // MARK: Reading and writing, without errors

    /// Returns the content of an entry, and the number of removals by other openings of the cache up to now.
    ///
    /// The entry is nil if it is missing, unreadable or damaged. A damaged entry is removed. The number is nil if it
    /// could not be read.
    func find(
        _ key: CacheKey
    ) async -> (entry: (content: Data, tags: [CacheTag])?, removalsElsewhere: Int64?) {
        let look = await attempt("reading the cache failed, so the content is loaded") { store in
            try await store.find(key)
        }
        guard let look else { return (nil, nil) }
        switch look.found {
        case .content(let content, let tags): return ((content, tags), look.removalsElsewhere)
        case .nothing: return (nil, look.removalsElsewhere)
        case .damaged(let row):
            failures.noteDamaged(key.description)
            await attempt("a damaged entry of the cache could not be removed") { store in try await store.remove(row) }
            return (nil, look.removalsElsewhere)
        }
    }

    /// Writes an entry. If that fails, no entry remains under its key.
    ///
    /// - Returns: the evicted entries.
    func store(
        _ entry: StoredEntry, limit: CacheLimit, loadedSince removals: Int64?,
        mayKeep: @escaping @Sendable () -> Bool, uses: @escaping @Sendable () -> [String]
    ) async -> [CacheKey] {
        let outcome = await attempt("writing the cache failed, so the content is not cached") { store in
            try await store.store(entry, limit: limit, loadedSince: removals, mayKeep: mayKeep, uses: uses)
        }
        if let outcome { return outcome.evicted }
        // An older content must not reappear. The check for one needs no disk space.
        let isThere = await attempt("the cache could not be read") { store in try await store.contains(entry.key) }
        if !isClosed, mayKeep(), isThere != false {
            do { try await remove(.key(entry.key)) } catch {
                failures.note("an old entry of the cache could not be removed", error: error)
            }
        }
        return []
    }

    /// Evicts entries that exceed a limit.
    func shrink(
        _ kind: CacheKind, to limit: CacheLimit, uses: @escaping @Sendable () -> [String]
    ) async -> [CacheKey] {
        await attempt("the cache could not be reduced to its limit") { store in
            try await store.shrink(kind, to: limit, uses: uses)
        } ?? []
    }

    /// Returns the number of entries and bytes of each kind, or an empty dictionary if it cannot be read.
    func totals() async -> [CacheKind: (count: Int, byteCount: Int)] {
        await attempt("the size of the cache could not be read") { store in try await store.totals() } ?? [:]
    }

    // MARK: Removing

    /// Removes entries. If they cannot be removed, the whole cache is removed.
    ///
    /// - Throws: ``CacheError/Code/notRemoved``, ``CacheError/Code/closed``.
    func remove(_ selection: Selection) async throws {
        let path = folder.directory.path
        guard !isClosed else { throw CacheError(.closed, message: "The cache in \(path) is closed.", path: path) }
        let store = store
        if await attempt("removing entries of the cache failed", { try await $0.remove(selection) }) != nil { return }
        // Another task may have replaced the database in the meantime. The new one was empty.
        if await startOver(insteadOf: store) { return }
        guard !isClosed else { throw CacheError(.closed, message: "The cache in \(path) is closed.", path: path) }
        throw CacheError(
            .notRemoved,
            message: """
                The removed content may still be in \(path), because its database cannot be written and is open \
                elsewhere. Close it everywhere and open it again, or remove the folder.
                """,
            path: path)
    }

    /// Waits for operations in progress, writes the last uses and closes the database.
    func close(_ uses: [(kind: CacheKind, names: [String])]) async {
        await replacing.withPermitThroughCancellation {
            let store = state.withLock { state -> CacheStore? in
                defer { state = .closed }
                if case .open(let store) = state { return store }
                return nil
            }
            do { try await store?.close(uses) } catch { failures.note("closing the cache failed", error: error) }
            do {
                try folder.lock.unlock()
            } catch {
                failures.note("the lock of the cache could not be released and ends with the process", error: error)
            }
        }
    }

    // MARK: Failures

    /// Runs the body on the open database. Returns nil when no database is open or the body throws. A damaged database
    /// is replaced.
    @discardableResult
    private func attempt<Value: Sendable>(
        _ what: String, _ body: @Sendable (CacheStore) async throws -> Value
    ) async -> Value? {
        guard let store, store.gate.enter() else { return nil }
        let result = await Result.catching { try await body(store) }
        store.gate.leave()
        switch result {
        case .success(let value): return value
        case .failure(let error):
            failures.note(what, error: error)
            if StoreFault.isDamage(error) { await startOver(insteadOf: store) }
            return nil
        }
    }

    /// Replaces an unusable database by an empty one.
    ///
    /// - Parameter old: the database to replace. If another one is open by now, it stays.
    /// - Returns: true if nothing of the old database is left.
    @discardableResult
    private func startOver(insteadOf old: CacheStore?) async -> Bool {
        await replacing.withPermitThroughCancellation {
            let (isOther, store) = state.withLock { state -> (Bool, CacheStore?) in
                switch state {
                case .closed: return (true, nil)
                case .open(let store) where store !== old: return (true, nil)
                case .open(let store):
                    state = .resting
                    return (false, store)
                case .resting: return (false, nil)
                }
            }
            if isOther { return !isClosed }
            do {
                try await store?.close([])
            } catch {
                // A damaged database may fail to close. Its file is removed even while it is open.
                failures.note("closing a damaged cache failed", error: error)
            }
            return await replace()
        }
    }

    private func replace() async -> Bool {
        do {
            let replacement = try await BlockingPool.shared.run { [folder, identity, failures] _ in
                try OpeningCache.replace(folder, identity: identity, failures: failures)
            }
            switch replacement {
            case .open(let store): state.withLock { $0 = .open(store) }
            case .emptied(let error): failures.note("the cache is unused until it is opened again", error: error)
            case .busy: return false
            }
            return true
        } catch {
            failures.note("the cache could not be removed", error: error)
            return false
        }
    }
}
