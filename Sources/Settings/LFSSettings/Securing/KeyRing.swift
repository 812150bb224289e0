import Crypto
import Foundation
import GRDB
import LFSDatabase
import LFSSystem
import Synchronization

/// The root key in memory, and the data keys that it decrypts.
///
/// One mutex owns the keys in memory. It is never held during a call or a transaction.
final class KeyRing: Sendable {
    struct Found: Sendable {
        let keys: [SettingKeyTable.WrappedKey]
        /// True if the table has no rows, not even unreadable ones.
        let isEmpty: Bool
        let note: Data?
    }

    private struct State {
        var root: SymmetricKey?
        var failure: SettingsError?
        /// True while the root key is fetched again although one is in memory.
        var isReloading = false
        /// The data keys that were opened, with their rows.
        var opened: [DataKeyID: (row: SettingKeyTable.WrappedKey, key: DataKey)] = [:]
        var durable: Set<DataKeyID> = []
    }

    let installID: FileID
    private let runner: BackgroundRunner
    /// Only one process at a time makes a root key.
    private let lock: DatabaseLock
    private let source: KeySource.Closures?
    private let now: @Sendable () -> Int64
    private let loading = AsyncSemaphore(1)
    private let state = Mutex(State())

    /// - Parameter source: nil if no key of any catalog needs one.
    init(
        _ runner: BackgroundRunner, lock: DatabaseLock, installID: FileID, source: KeySource.Closures?,
        now: @escaping @Sendable () -> Int64
    ) {
        self.runner = runner
        self.lock = lock
        self.installID = installID
        self.source = source
        self.now = now
    }

    // MARK: The root key

    /// Fetches the root key unless it is in memory. Makes one only if the database has no data key.
    ///
    /// - Throws: ``SettingsError/Code/keyMissing``, ``SettingsError/Code/keyMismatch``, ``SettingsError/Code/locked``,
    ///   and the errors of the source.
    func load() async throws {
        if state.withLock({ $0.root != nil }) { return }
        try await loading.withPermit {
            if state.withLock({ $0.root != nil }) { return }
            try await fetchAndKeep()
        }
    }

    /// Fetches the root key although one is in memory. The one in memory may no longer be stored anywhere, and must not
    /// wrap a new data key.
    private func reload() async throws {
        try await loading.withPermit {
            // Other calls continue to decrypt with the key in memory.
            state.withLock { $0.isReloading = true }
            defer { state.withLock { $0.isReloading = false } }
            try await fetchAndKeep()
        }
    }

    private func fetchAndKeep() async throws {
        do {
            let root = try await fetch()
            state.withLock { ($0.root, $0.failure) = (root, nil) }
        } catch {
            let failure = SettingsError.wrapping(error, key: nil) as? SettingsError
            state.withLock { ($0.root, $0.failure) = (nil, failure) }
            throw error
        }
    }

    private func fetch() async throws -> SymmetricKey {
        guard let source else { throw SettingsError.noRootKey }
        while true {
            let found = try await look()
            if found.isEmpty {
                // If another process is making one too, its data key is used, and this process reads it.
                if let root = try await lock.run({ try await makeFirst(source) }) { return root }
                continue
            }
            let root = try await source.obtain(found.note, mayMake: false).root
            let present = try await look()
            // A removal of all values may have deleted the data keys in the meantime.
            if present.isEmpty { continue }
            guard !present.keys.isEmpty else { throw RootKeyErrors.missing }
            guard opens(present, root: root) else { throw RootKeyErrors.mismatch }
            return root
        }
    }

    private func look() async throws -> Found {
        try await runner.read { db in
            let (keys, isEmpty) = (try SettingKeyTable.all(db), try SettingKeyTable.isEmpty(db))
            return Found(keys: keys, isEmpty: isEmpty, note: try SettingsStateTable.read(db).rootKeyNote)
        }
    }

    /// Returns true if a root key is the right one. Decrypting one data key is enough, because others may be damaged.
    private func opens(_ found: Found, root: SymmetricKey) -> Bool {
        found.keys.contains { key in DataKeyID(hex: key.id).map { open(key, id: $0, root: root) != nil } ?? false }
    }

    /// Stores the root key, reads it back, and only then adds the data key's row durably.
    private func makeFirst(_ source: KeySource.Closures) async throws -> SymmetricKey? {
        // The note may belong to a root key whose data keys were deleted by a removal of all values.
        let found = try await look()
        guard found.isEmpty else { return nil }
        let fresh = try await source.obtain(found.note, mayMake: true)
        let id = try await runner.writeDurably { db -> DataKeyID? in
            guard try SettingKeyTable.isEmpty(db), try SettingsStateTable.read(db).installID == self.installID else {
                return nil
            }
            try SettingsStateTable.noteRootKey(fresh.note, db)
            return try self.addKey(fresh.root, db)
        }
        guard let id else { return nil }
        state.withLock { _ = $0.durable.insert(id) }
        return fresh.root
    }

    /// Adds a new data key, which becomes the current one.
    private func addKey(_ root: SymmetricKey, _ db: Database) throws -> DataKeyID {
        let key = DataKey(id: .random(), key: SymmetricKey(size: .bits256))
        try SettingKeyTable.add(key.id.text, wrapped: try key.wrapped(by: root, installID), now: now(), db)
        return key.id
    }

    func obtainOther() async throws -> (root: SymmetricKey, note: Data?) {
        guard let source else { throw SettingsError.noRootKey }
        return try await lock.run { try await source.obtain(nil, mayMake: true) }
    }

    /// Replaces a lost root key, and replaces all data keys by a new first one.
    func startOver(with other: (root: SymmetricKey, note: Data?)) async throws {
        // One transaction, so that no process finds the table empty and makes a data key with the lost root key.
        let id = try await runner.writeDurably { db in
            try SettingKeyTable.removeAll(db)
            try SettingsStateTable.noteRootKey(other.note, db)
            return try self.addKey(other.root, db)
        }
        state.withLock { $0 = State(root: other.root, durable: [id]) }
    }

    // MARK: The data keys

    /// Returns a cached data key as a set that can only decrypt.
    func cached(_ id: DataKeyID) -> KeySet? {
        state.withLock { $0.opened[id]?.key }.map { KeySet(current: nil, all: [id: $0], unreadable: []) }
    }

    /// Returns the keys that are now in the database.
    ///
    /// - Throws: the errors of ``load()``.
    func keys() async throws -> KeySet {
        try await load()
        var isAgain = false
        while true {
            let set = try await runner.read { db in try self.keys(db) }
            // The root key was just fetched again. If it still does not open the data keys, the calls that need them
            // throw.
            if !set.all.isEmpty || isAgain && !set.unreadable.isEmpty { return set }
            // After a removal of all values the table is empty, and a data key is made. This repeats if another removal
            // comes in between. Another process may also have given up the root key.
            try await reload()
            isAgain = true
        }
    }

    /// Does the same as ``keys()``, for a value outside the database. The data key is made durable first, because a
    /// power failure could lose the app's last commits, and with them the key of a value that stays.
    func durableKeys() async throws -> KeySet {
        let set = try await keys()
        guard let id = set.current?.id, !state.withLock({ $0.durable.contains(id) }) else { return set }
        try await runner.writeDurably { _ in }
        state.withLock { _ = $0.durable.insert(id) }
        return set
    }

    /// Returns true if a transaction would find no usable data key.
    func lacksKeys(_ db: Database) throws -> Bool {
        guard state.withLock({ $0.root != nil }) else { return true }
        return try keys(db).all.isEmpty
    }

    /// Does the same as ``keys()``, within a transaction.
    ///
    /// - Parameter mayMake: makes a data key if the table is empty, as after a reset. It is for transactions of the
    ///   app, which cannot wait until the root key is fetched again.
    /// - Throws: the earlier error of fetching the root key, and ``SettingsError/Code/keyMissing``.
    func keys(_ db: Database, mayMake: Bool = false) throws -> KeySet {
        let (root, failure, isReloading) = state.withLock { ($0.root, $0.failure, $0.isReloading) }
        guard let root else { throw failure ?? (source == nil ? SettingsError.noRootKey : RootKeyErrors.missing) }
        var (all, unreadable, current): ([DataKeyID: DataKey], Set<DataKeyID>, DataKey?) = ([:], [], nil)
        if mayMake, try SettingKeyTable.isEmpty(db) {
            // The root key in memory may no longer be stored anywhere.
            if isReloading { throw RootKeyErrors.missing }
            _ = try addKey(root, db)
        }
        for row in try SettingKeyTable.all(db) {
            guard let id = DataKeyID(hex: row.id) else { continue }
            guard let key = open(row, id: id, root: root) else {
                unreadable.insert(id)
                continue
            }
            all[id] = key
            if row.isCurrent { current = key }
        }
        return KeySet(current: current, all: all, unreadable: unreadable)
    }

    /// Adds a data key, which becomes the current one. It is durable when the call returns.
    func rotate() async throws {
        try await load()
        while true {
            guard let root = state.withLock({ $0.root }) else { throw RootKeyErrors.missing }
            let id = try await runner.writeDurably { db -> DataKeyID? in
                // Only if this root key opens a data key. Otherwise the table would mix data keys of two root keys.
                try self.keys(db).all.isEmpty ? nil : try self.addKey(root, db)
            }
            if let id { return state.withLock { _ = $0.durable.insert(id) } }
            // A removal of all values has emptied the table. Data keys that the root key does not open are an error.
            try await reload()
            try Task.checkCancellation()
        }
    }

    private func open(_ row: SettingKeyTable.WrappedKey, id: DataKeyID, root: SymmetricKey) -> DataKey? {
        if let opened = state.withLock({ $0.opened[id] }), opened.row == row { return opened.key }
        do {
            let key = try DataKey.unwrapping(row.wrapped, id: id, by: root, installID: installID)
            state.withLock { $0.opened[id] = (row, key) }
            return key
        } catch {
            // The call that needs the key throws: see KeySet.unreadable.
            return nil
        }
    }
}

/// An error for a transaction that finds no data key in memory: see ``ValueAccess/write(isDurable:_:)``.
struct NoDataKey: Error {}
