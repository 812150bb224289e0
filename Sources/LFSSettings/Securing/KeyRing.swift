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

    private struct State {
        var root: SymmetricKey?
        var failure: SettingsError?
        var opened: [SettingKeyTable.WrappedKey: DataKey] = [:]
        var byID: [DataKeyID: DataKey] = [:]
    }

    let installID: FileID
    private let runner: BackgroundRunner
    private let source: Source?
    private let now: @Sendable () -> Int64
    private let loading = Permits(1)
    private let state = Mutex(State())

    /// - Parameter source: nil where no key of any catalog needs one.
    init(_ runner: BackgroundRunner, installID: FileID, source: Source?, now: @escaping @Sendable () -> Int64) {
        (self.runner, self.installID, self.source, self.now) = (runner, installID, source, now)
    }

    // MARK: The root key

    /// Fetches the root key unless it is here, and makes it while there is no data key.
    ///
    /// - Throws: ``SettingsError/Code/keyMissing``, ``SettingsError/Code/keyMismatch``, ``SettingsError/Code/locked``;
    ///   what the source throws.
    func load() async throws {
        if state.withLock({ $0.root != nil }) { return }
        try await loading.withPermit {
            if state.withLock({ $0.root != nil }) { return }
            do {
                let root = try await fetch()
                state.withLock { ($0.root, $0.failure) = (root, nil) }
            } catch {
                let failure = SettingsError.wrapping(error, nil) as? SettingsError
                state.withLock { $0.failure = failure }
                throw error
            }
        }
    }

    /// Forgets what is in memory, so that the next ``load()`` begins anew.
    func forget() { state.withLock { $0 = State() } }

    private func fetch() async throws -> SymmetricKey {
        guard let source else { throw Self.unnamed }
        while true {
            let (isNew, note) = try await runner.read { db in
                (try SettingKeyTable.isEmpty(db), try SettingsStateTable.read(db).rootKeyNote)
            }
            guard isNew else {
                guard let root = try await source.load(note) else { throw RootKeyErrors.missing }
                try await check(root)
                return root
            }
            // Another process may be at it too: then its data key counts, and this one looks again.
            if let root = try await makeFirst(source, note) { return root }
        }
    }

    /// Stored, read back, and only then the row, durably.
    ///
    /// - Parameter note: of a root key whose data keys a reset has removed.
    private func makeFirst(_ source: Source, _ note: Data?) async throws -> SymmetricKey? {
        var note = note
        var root = try await source.load(note)
        if root == nil {
            guard let make = source.make else { throw RootKeyErrors.missing }
            note = try await make()
            root = try await source.load(note)
        }
        guard let root else { throw RootKeyErrors.missing }
        let (key, kept, installID, now) = (try newKey(root), note, installID, now())
        return try await runner.writeDurably { db in
            guard try SettingKeyTable.isEmpty(db), try SettingsStateTable.read(db).installID == installID else {
                return nil
            }
            try SettingKeyTable.add(key.id, wrapped: key.wrapped, now: now, db)
            try SettingsStateTable.noteRootKey(kept, db)
            return root
        }
    }

    private func newKey(_ root: SymmetricKey) throws -> (id: String, wrapped: Data) {
        let key = DataKey(id: .random(), key: SymmetricKey(size: .bits256))
        return (key.id.text, try key.wrapped(by: root, installID))
    }

    private func check(_ root: SymmetricKey) async throws {
        let keys = try await runner.read(SettingKeyTable.all)
        let current = keys.first { $0.isCurrent } ?? keys.first
        guard let current, let id = DataKeyID(hex: current.id) else { throw RootKeyErrors.missing }
        do {
            _ = try DataKey.unwrapping(current.wrapped, id: id, by: root, installID)
        } catch {
            throw RootKeyErrors.mismatch
        }
    }

    // MARK: The data keys

    /// A data key that was opened before, as a set of it alone that only opens.
    func cached(_ id: DataKeyID) -> KeySet? {
        state.withLock { $0.byID[id] }.map { KeySet(current: nil, all: [id: $0], unreadable: []) }
    }

    /// The keys as the database has them now.
    ///
    /// - Throws: as ``load()``.
    func keys() async throws -> KeySet {
        try await load()
        let set = try await runner.read { db in try self.keys(db) }
        if set.current != nil || !set.unreadable.isEmpty { return set }
        return try await runner.writeDurably { db in try self.keys(db, mayMake: true) }
    }

    /// As ``keys()``, within a transaction.
    ///
    /// - Parameter mayMake: makes a data key when there is none, as after a reset; in a transaction that writes.
    /// - Throws: why the root key could not be fetched before; ``SettingsError/Code/keyMissing``.
    func keys(_ db: Database, mayMake: Bool = false) throws -> KeySet {
        let (root, failure) = state.withLock { ($0.root, $0.failure) }
        guard let root else { throw failure ?? (source == nil ? Self.unnamed : RootKeyErrors.missing) }
        var (all, unreadable, current): ([DataKeyID: DataKey], Set<DataKeyID>, DataKey?) = ([:], [], nil)
        if mayMake, try SettingKeyTable.isEmpty(db) {
            let key = try newKey(root)
            try SettingKeyTable.add(key.id, wrapped: key.wrapped, now: now(), db)
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
        try await load()
        guard let root = state.withLock({ $0.root }) else { throw RootKeyErrors.missing }
        let (key, now) = (try newKey(root), now())
        try await runner.writeDurably { db in
            // Not on top of keys that this root key does not open: they would not be told apart later.
            guard try self.keys(db).unreadable.isEmpty else { throw RootKeyErrors.mismatch }
            try SettingKeyTable.add(key.id, wrapped: key.wrapped, now: now, db)
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

extension DataKeyID {
    /// Nil for a text that is no 32 lowercase hex digits.
    init?(hex text: String) {
        let isHex = text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
        guard text.utf8.count == 2 * Self.byteCount, isHex else { return nil }
        self.init(unchecked: text)
    }
}
