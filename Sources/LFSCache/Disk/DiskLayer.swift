import Foundation
import LFSFiles
import LFSSystem
import Logging
import Synchronization

/// The entries on the disk. What it cannot read or write makes reading slower and breaks nothing; a database that is
/// damaged it replaces by an empty one.
///
/// Owner of which database is open: the mutex. The permit is held by who replaces it.
final class DiskLayer: Sendable {
    private enum State {
        case open(CacheStore)
        /// The database cannot be used, and cannot be replaced now.
        case resting
        case closed
    }

    let folder: CacheFolder
    private let identity: CacheIdentity
    private let failures: FailureLog
    private let state: Mutex<State>
    private let replacing = Permits(1)

    init(_ folder: CacheFolder, _ identity: CacheIdentity, _ store: CacheStore?, _ failures: FailureLog) {
        (self.folder, self.identity, self.failures) = (folder, identity, failures)
        state = Mutex(store.map(State.open) ?? .resting)
    }

    var isClosed: Bool { state.withLock { if case .closed = $0 { true } else { false } } }

    private var store: CacheStore? { state.withLock { if case .open(let store) = $0 { store } else { nil } } }

    // MARK: What never throws

    /// The content of an entry; nil also when it cannot be read, or is damaged, and is dropped then. With it what other
    /// processes had removed before; nil when that could not be read.
    func find(
        _ key: CacheKey
    ) async -> (entry: (content: Data, tags: [CacheTag])?, removalsElsewhere: Int64?) {
        let look = await attempt("reading the cache failed; what is asked for is loaded") { store in
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

    /// Writes an entry. When that fails, nothing is there under its key.
    ///
    /// - Returns: what was evicted.
    func store(
        _ entry: StoredEntry, _ limit: CacheLimit, loadedSince removals: Int64?,
        mayKeep: @escaping @Sendable () -> Bool, uses: @escaping @Sendable () -> [String]
    ) async -> [CacheKey] {
        let outcome = await attempt("writing the cache failed; the content is read without it") { store in
            try await store.store(entry, limit, loadedSince: removals, mayKeep: mayKeep, uses: uses)
        }
        if let outcome { return outcome.evicted }
        // An older content must not come back. Looking whether there is one needs no room on the disk.
        let isThere = await attempt("the cache could not be read") { store in try await store.contains(entry.key) }
        if !isClosed, mayKeep(), isThere != false {
            do { try await remove(.key(entry.key)) } catch { failures.note("an old entry of the cache stays", error) }
        }
        return []
    }

    /// Evicts what is above a limit.
    func shrink(
        _ kind: CacheKind, to limit: CacheLimit, uses: @escaping @Sendable () -> [String]
    ) async -> [CacheKey] {
        await attempt("the cache could not be made smaller") { store in
            try await store.shrink(kind, to: limit, uses: uses)
        } ?? []
    }

    /// What is there of each kind; empty when it cannot be read.
    func totals() async -> [CacheKind: (count: Int, byteCount: Int)] {
        await attempt("the cache could not be counted") { store in try await store.totals() } ?? [:]
    }

    // MARK: Removing

    /// Takes entries out. When they cannot be, all of the cache is removed.
    ///
    /// - Throws: ``CacheError/Code/notRemoved``, ``CacheError/Code/closed``.
    func remove(_ selection: Selection) async throws {
        let path = folder.directory.path
        guard !isClosed else { throw CacheError(.closed, "The cache in \(path) was closed.", path: path) }
        let store = store
        if await attempt("taking entries out of the cache failed", { try await $0.remove(selection) }) != nil { return }
        // It may have been replaced meanwhile, and then it was empty.
        if await startOver(insteadOf: store) { return }
        guard !isClosed else { throw CacheError(.closed, "The cache in \(path) was closed.", path: path) }
        throw CacheError(
            .notRemoved,
            """
            What was to go may still be in \(path): its database cannot be written, and others have it open. Close it \
            everywhere and open it again, or remove the folder.
            """,
            path: path)
    }

    /// Waits for what is under way, writes the last uses and closes the database.
    func close(_ uses: [(kind: CacheKind, names: [String])]) async {
        await replacing.withPermitThroughCancellation {
            let store = state.withLock { state -> CacheStore? in
                defer { state = .closed }
                if case .open(let store) = state { return store }
                return nil
            }
            do { try await store?.close(uses) } catch { failures.note("closing the cache failed", error) }
            do {
                try folder.lock.unlock()
            } catch {
                failures.note("the lock of the cache goes with the process only", error)
            }
        }
    }

    // MARK: Failing

    /// Runs the body on the open database. Nil when there is none, or when it fails; a damaged database is replaced.
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
            failures.note(what, error)
            if StoreFault.isDamage(error) { await startOver(insteadOf: store) }
            return nil
        }
    }

    /// Puts an empty database in the place of one that is of no use any more.
    ///
    /// - Parameter old: the one that is meant; another one stays.
    /// - Returns: whether nothing of the old one is left.
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
                // A damaged database may refuse that too. Its file goes whoever has it open.
                failures.note("closing a damaged cache failed", error)
            }
            return await replace()
        }
    }

    private func replace() async -> Bool {
        do {
            let replacement = try await BlockingPool.shared.run { [folder, identity, failures] _ in
                try OpeningCache.replace(folder, identity, failures)
            }
            switch replacement {
            case .open(let store): state.withLock { $0 = .open(store) }
            case .emptied(let error): failures.note("the cache rests until it is opened the next time", error)
            case .busy: return false
            }
            return true
        } catch {
            failures.note("the cache could not be removed", error)
            return false
        }
    }
}
