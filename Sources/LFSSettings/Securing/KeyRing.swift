import Crypto
import Foundation
import GRDB
import LFSDatabase
import LFSSystem
import Synchronization

/// The root key in memory, and the data keys that it opens.
///
/// Owner of the keys in memory: one mutex, which no call and no transaction is made under.
final class KeyRing: Sendable {
    /// Where the root key is; the closures of a ``KeySource``.
    struct Source: Sendable {
        let load: @Sendable (_ note: Data?) async throws -> SymmetricKey?
        let make: (@Sendable () async throws -> Data?)?
    }

    /// What the database has of keys.
    struct Found: Sendable {
        let keys: [SettingKeyTable.WrappedKey]
        /// Whether there is none, not even one that cannot be read.
        let isEmpty: Bool
        /// Of the root key's source.
        let note: Data?

        init(_ state: SettingsStateTable.State, _ db: Database) throws {
            keys = try SettingKeyTable.all(db)
            isEmpty = try keys.isEmpty && SettingKeyTable.isEmpty(db)
            note = state.rootKeyNote
        }
    }

    private struct State {
        var root: SymmetricKey?
        var failure: SettingsError?
        /// Whether the root key is fetched although one is here.
        var isReloading = false
        var opened: [SettingKeyTable.WrappedKey: DataKey] = [:]
        var byID: [DataKeyID: DataKey] = [:]
        /// Keys whose rows are on the device.
        var durable: Set<DataKeyID> = []
    }

    let installID: FileID
    private let runner: BackgroundRunner
    /// One process at a time makes a root key.
    private let lock: DatabaseLock
    private let source: Source?
    private let now: @Sendable () -> Int64
    private let loading = Permits(1)
    private let state = Mutex(State())

    /// - Parameter source: nil where no key of any catalog needs one.
    init(
        _ runner: BackgroundRunner, _ lock: DatabaseLock, installID: FileID, source: Source?,
        now: @escaping @Sendable () -> Int64
    ) {
        (self.runner, self.lock, self.installID, self.source, self.now) = (runner, lock, installID, source, now)
    }

    // MARK: The root key

    /// Fetches the root key unless it is here, and makes it while there is no data key.
    ///
    /// - Parameter found: what the database had a moment ago; nil looks. What counts is looked at anew.
    /// - Throws: ``SettingsError/Code/keyMissing``, ``SettingsError/Code/keyMismatch``, ``SettingsError/Code/locked``;
    ///   what the source throws.
    func load(_ found: Found? = nil) async throws {
        if state.withLock({ $0.root != nil }) { return }
        try await loading.withPermit {
            if state.withLock({ $0.root != nil }) { return }
            try await fetchAndKeep(found)
        }
    }

    /// Fetches the root key although one is here: that may be stored nowhere any more, and is not to wrap a new data
    /// key.
    private func reload() async throws {
        try await loading.withPermit {
            // Others go on opening with the one that is here.
            state.withLock { $0.isReloading = true }
            defer { state.withLock { $0.isReloading = false } }
            try await fetchAndKeep(nil)
        }
    }

    private func fetchAndKeep(_ found: Found?) async throws {
        do {
            let root = try await fetch(found)
            state.withLock { ($0.root, $0.failure) = (root, nil) }
        } catch {
            let failure = SettingsError.wrapping(error, nil) as? SettingsError
            state.withLock { ($0.root, $0.failure) = (nil, failure) }
            throw error
        }
    }

    private func fetch(_ found: Found?) async throws -> SymmetricKey {
        guard let source else { throw Self.unnamed }
        var found = if let found { found } else { try await look() }
        while true {
            if found.isEmpty {
                // Another process may be at it too: then its data key counts, and this one looks again.
                if let root = try await lock.run({ try await makeFirst(source) }) { return root }
                found = try await look()
                continue
            }
            guard let root = try await source.load(found.note) else { throw RootKeyErrors.missing }
            try RootKeyErrors.requireLength(root)
            found = try await look()
            // A removal of everything may have taken the data keys meanwhile.
            if found.isEmpty { continue }
            guard !found.keys.isEmpty else { throw RootKeyErrors.missing }
            guard opens(found, root) else { throw RootKeyErrors.mismatch }
            return root
        }
    }

    private func look() async throws -> Found {
        try await runner.read { db in try Found(SettingsStateTable.read(db), db) }
    }

    /// Whether a root key is the right one: when it opens one of the data keys, for others may be damaged.
    private func opens(_ found: Found, _ root: SymmetricKey) -> Bool {
        found.keys.contains { key in DataKeyID(hex: key.id).map { open(key, $0, root) != nil } ?? false }
    }

    /// Stored, read back, and only then the row, durably.
    private func makeFirst(_ source: Source) async throws -> SymmetricKey? {
        // The note may be of a root key whose data keys a removal of everything has taken.
        let found = try await look()
        guard found.isEmpty else { return nil }
        let fresh = try await obtain(source, found.note)
        let (key, installID, now) = (try newKey(fresh.root), installID, now())
        let isAdded = try await runner.writeDurably { db in
            guard try SettingKeyTable.isEmpty(db), try SettingsStateTable.read(db).installID == installID else {
                return false
            }
            try SettingKeyTable.add(key.id.text, wrapped: key.wrapped, now: now, db)
            try SettingsStateTable.noteRootKey(fresh.note, db)
            return true
        }
        guard isAdded else { return nil }
        state.withLock { _ = $0.durable.insert(key.id) }
        return fresh.root
    }

    /// A root key as its source keeps it, made where there is none.
    private func obtain(_ source: Source, _ note: Data?) async throws -> (root: SymmetricKey, note: Data?) {
        var note = note
        var root = try await source.load(note)
        if root == nil {
            guard let make = source.make else { throw RootKeyErrors.missing }
            note = try await make()
            root = try await source.load(note)
        }
        guard let root else { throw RootKeyErrors.missing }
        try RootKeyErrors.requireLength(root)
        return (root, note)
    }

    private func newKey(_ root: SymmetricKey) throws -> (id: DataKeyID, wrapped: Data) {
        let key = DataKey(id: .random(), key: SymmetricKey(size: .bits256))
        return (key.id, try key.wrapped(by: root, installID))
    }

    /// Another root key, for the place of one that is lost.
    func obtainOther() async throws -> (root: SymmetricKey, note: Data?) {
        guard let source else { throw Self.unnamed }
        return try await lock.run { try await obtain(source, nil) }
    }

    /// Puts another root key in the place of one that is lost, with a first data key in the place of all.
    func startOver(with other: (root: SymmetricKey, note: Data?)) async throws {
        let (key, now) = (try newKey(other.root), now())
        // At once, so that nobody finds a table without a key and makes one of a root key that is lost.
        try await runner.writeDurably { db in
            try SettingKeyTable.removeAll(db)
            try SettingKeyTable.add(key.id.text, wrapped: key.wrapped, now: now, db)
            try SettingsStateTable.noteRootKey(other.note, db)
        }
        state.withLock { $0 = State(root: other.root, durable: [key.id]) }
    }

    // MARK: The data keys

    /// A data key that was opened before, as a set of it alone that only opens.
    func cached(_ id: DataKeyID) -> KeySet? {
        state.withLock { $0.byID[id] }.map { KeySet(current: nil, all: [id: $0], unreadable: []) }
    }

    /// The keys as the database has them now.
    ///
    /// - Throws: as ``load(_:)``.
    func keys() async throws -> KeySet {
        try await load()
        var isAgain = false
        while true {
            let set = try await runner.read { db in try self.keys(db) }
            // Keys that the root key does not open, fetched anew as it is, are told by whoever needs them.
            if !set.all.isEmpty || isAgain && !set.unreadable.isEmpty { return set }
            // After a removal of everything there is none, and one is made, as often as one comes in between; another
            // process may have given up the root key.
            try await reload()
            isAgain = true
        }
    }

    /// As ``keys()``, for a value beside the database: a power cut that takes back the host's last commits must not
    /// take the key of a value that it leaves.
    func durableKeys() async throws -> KeySet {
        let set = try await keys()
        guard let id = set.current?.id, !state.withLock({ $0.durable.contains(id) }) else { return set }
        try await runner.writeDurably { _ in }
        state.withLock { _ = $0.durable.insert(id) }
        return set
    }

    /// Runs a body with a transaction that may need a data key, and runs it again when there was none, once one is
    /// made: as often as a removal of everything comes in between.
    func retrying<Result>(_ body: () async throws -> Result) async throws -> Result {
        try await load()
        while true {
            // Keys that the root key does not open end this: they are none of a removal.
            do { return try await body() } catch is NoDataKey { try await reload() }
            try Task.checkCancellation()
        }
    }

    /// Whether a transaction would find no data key that it can use.
    func lacksKeys(_ db: Database) throws -> Bool {
        guard state.withLock({ $0.root != nil }) else { return true }
        return try keys(db).all.isEmpty
    }

    /// As ``keys(_:mayMake:)``, for a body of ``retrying(_:)``.
    ///
    /// - Throws: ``NoDataKey``.
    func requiredKeys(_ db: Database) throws -> KeySet {
        let set = try keys(db)
        if set.all.isEmpty { throw NoDataKey() }
        return set
    }

    /// As ``keys()``, within a transaction.
    ///
    /// - Parameter mayMake: makes a data key when there is none, as after a reset; in a transaction of the host's own,
    ///   which cannot wait for the root key to be fetched anew.
    /// - Throws: why the root key could not be fetched before; ``SettingsError/Code/keyMissing``.
    func keys(_ db: Database, mayMake: Bool = false) throws -> KeySet {
        let (root, failure, isReloading) = state.withLock { ($0.root, $0.failure, $0.isReloading) }
        guard let root else { throw failure ?? (source == nil ? Self.unnamed : RootKeyErrors.missing) }
        var (all, unreadable, current): ([DataKeyID: DataKey], Set<DataKeyID>, DataKey?) = ([:], [], nil)
        if mayMake, try SettingKeyTable.isEmpty(db) {
            // The one that is here may be stored nowhere any more.
            if isReloading { throw RootKeyErrors.missing }
            let key = try newKey(root)
            try SettingKeyTable.add(key.id.text, wrapped: key.wrapped, now: now(), db)
        }
        for row in try SettingKeyTable.all(db) {
            guard let id = DataKeyID(hex: row.id) else { continue }
            guard let key = open(row, id, root) else {
                unreadable.insert(id)
                continue
            }
            all[id] = key
            if row.isCurrent { current = key }
        }
        return KeySet(current: current, all: all, unreadable: unreadable)
    }

    /// Adds a data key, which is the current one from then on, and durably so when the call returns.
    func rotate() async throws {
        try await retrying {
            guard let root = state.withLock({ $0.root }) else { throw RootKeyErrors.missing }
            let (key, now) = (try newKey(root), now())
            try await runner.writeDurably { db in
                // Not on top of none that this root key opens: they would not be told apart later.
                _ = try self.requiredKeys(db)
                try SettingKeyTable.add(key.id.text, wrapped: key.wrapped, now: now, db)
            }
            state.withLock { _ = $0.durable.insert(key.id) }
        }
    }

    private func open(_ row: SettingKeyTable.WrappedKey, _ id: DataKeyID, _ root: SymmetricKey) -> DataKey? {
        if let key = state.withLock({ $0.opened[row] }) { return key }
        do {
            let key = try DataKey.unwrapping(row.wrapped, id: id, by: root, installID)
            state.withLock { ($0.opened[row], $0.byID[id]) = (key, key) }
            return key
        } catch {
            // Who needs it is told: see KeySet.unreadable.
            return nil
        }
    }

    private static var unnamed: SettingsError {
        SettingsError(
            .notConfigured,
            "A key is encrypted, and the options name no root key. Set StorageOptions.rootKey, such as .keyFile(…).")
    }
}

/// There is no data key yet, within a transaction that cannot have one made: see `KeyRing.retrying`.
struct NoDataKey: Error {}
