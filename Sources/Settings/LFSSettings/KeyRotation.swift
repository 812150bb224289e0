import Foundation
import GRDB
import LFSDatabase
import LFSSystem

/// The operations on all encrypted values and their data keys: encrypting them again, deleting retired keys, and
/// removing values that cannot be read.
struct KeyRotation: Sendable {
    let access: ValueAccess

    /// A stored value by its name, and the domain that it is stored in.
    private struct Item: Sendable {
        let name: String
        let domain: StorageDomain
    }

    /// The number of rows that one transaction changes.
    private static let pageSize = 100

    /// The errors of a value that is lost, as opposed to one that is only unreadable for now.
    private static let losses: Set<SettingsError.Code> = [.corrupted, .keyMissing, .keyMismatch]

    private var ring: KeyRing { access.ring }

    // MARK: Rotation

    /// Adds a durable new data key, then encrypts the values again. Each envelope names its key, so all values stay
    /// readable if the process is killed at any point.
    func rotate() async throws {
        try await ring.rotate()
        let rows = try await names { value in Envelope.isEnvelope(value.content.bytes) }
        // Includes folders of other routers. Their catalogs are unknown here, but encrypting values again needs no
        // catalog.
        let stores = try await access.stores.usedFileStores()
        _ = try await changeEach(rows: rows, stores: stores) { item, read, keys in
            try self.reclosed(item, read: read, keys: keys).map(StoredChange.put) ?? .keep
        }
    }

    /// Returns the value encrypted with the current key. Nil if it already is, or cannot be opened.
    private func reclosed(_ item: Item, read: ValueReader, keys: KeySet) throws -> StoredValue? {
        do {
            guard let stored = try read(), isEnvelope(stored.content.bytes, of: item) else { return nil }
            let header = try Envelope.header(of: stored.content.bytes)
            if header.keyID == keys.current?.id { return nil }
            let context = access.context(item.name, domain: item.domain, content: stored.content)
            let value = try keys.open(stored.content.bytes, for: context)
            return stored.with(bytes: try keys.close(value, suite: header.suite, for: context))
        } catch let error as SettingsError where Self.losses.contains(error.code) || error.code == .newerValue {
            return nil
        }
    }

    /// Returns true if the bytes are an envelope of any version. The value of a plain key may happen to start like one.
    private func isEnvelope(_ bytes: Data, of item: Item) -> Bool {
        guard Envelope.isEnvelope(bytes) else { return false }
        guard let info = info(item.name), info.security == .none else { return true }
        return info.domain.word != item.domain.word
    }

    // MARK: Retired keys

    /// Deletes the retired keys.
    ///
    /// - Returns: the number of deleted keys.
    /// - Throws: ``SettingsError/Code/keyInUse`` while an envelope names one.
    func forgetRetired() async throws -> Int {
        while true {
            if let count = try await forgetUnlessRotated() { return count }
        }
    }

    /// Deletes the retired keys. Returns nil if a key was retired or a folder was added after the check of the files.
    private func forgetUnlessRotated() async throws -> Int? {
        let folders = try await access.runner.read(FolderTable.all)
        // Writers of files fetch the keys while they hold the folder's lock.
        let stores = try await access.stores.usedFileStores()
        return try await withLocks(try await distinct(stores)[...]) {
            let keys = try await ring.keys()
            for store in stores {
                for name in try await store.names() {
                    let read = await Result.catching { try await store.read(name) }
                    try requireCurrent(Item(name: name, domain: .file()), keys: keys) { try read.get()?.content.bytes }
                }
            }
            return try await access.runner.writeDurably { db in
                let now = try self.ring.keys(db)
                guard now.current?.id == keys.current?.id, try FolderTable.all(db) == folders else { return nil }
                try SettingTable.forEachRow(db) { row in
                    let item = Item(name: row.name, domain: .database)
                    try self.requireCurrent(item, keys: now) { try row.value.get()?.content.bytes }
                }
                return try SettingKeyTable.removeRetired(db)
            }
        }
    }

    private func requireCurrent(_ item: Item, keys: KeySet, _ read: () throws -> Data?) throws {
        do {
            guard let bytes = try read(), isEnvelope(bytes, of: item) else { return }
            let id = try Envelope.header(of: bytes).keyID
            guard id != keys.current?.id, keys.all[id] != nil || keys.unreadable.contains(id) else { return }
        } catch let error as SettingsError where error.code == .corrupted {
            // No key opens a damaged value any more.
            return
        } catch let error as SettingsError where error.code == .newerValue {
            // A value of a newer app may name any of the retired keys.
        }
        throw SettingsError(
            .keyInUse,
            message: """
                The value of \(publicName(item.name)) still needs a retired key, or may need one because a newer app \
                has written it. First call rotateKeys() with the newest app. If that app cannot read the value, call \
                discardUnreadable() or remove the value.
                """,
            key: info(item.name)?.publicName)
    }

    /// Returns each folder once, even if it has several names, in an order that is the same for all processes. Taking
    /// the locks in this order prevents deadlocks.
    private func distinct(_ stores: [FileStore]) async throws -> [FileStore] {
        var byIdentity: [LockedFile.Identity: FileStore] = [:]
        for store in stores { byIdentity[try await store.identity()] = store }
        return byIdentity.sorted { $0.key < $1.key }.map(\.value)
    }

    private func withLocks<Result>(
        _ stores: ArraySlice<FileStore>, _ body: () async throws -> Result
    ) async throws -> Result {
        guard let first = stores.first else { return try await body() }
        return try await first.withLock { _ in try await withLocks(stores.dropFirst(), body) }
    }

    // MARK: Discarding

    /// Removes encrypted values that cannot be read, because they or their data keys are damaged.
    ///
    /// - Returns: the keys, or their families, whose values were removed.
    /// - Throws: the error that made the root key unavailable.
    func discard() async throws -> [String] {
        // Another process may have replaced the root key, and the one in memory opens none of the values then.
        _ = try await ring.keys()
        return try await discard(all: false)
    }

    /// Removes all encrypted values and their data keys when the root key is lost, and starts over with another root
    /// key.
    func giveUpRootKey() async throws -> [String] {
        do {
            _ = try await ring.keys()
        } catch let error as SettingsError where Self.losses.contains(error.code) {
            // Nothing is removed before there is another root key.
            let other = try await ring.obtainOther()
            let names = try await discard(all: true)
            // Data keys are removed after the values. If the process is killed in between, the root key still counts as
            // lost.
            try await ring.startOver(with: other)
            return names
        }
        return try await discard(all: false)
    }

    private func discard(all: Bool) async throws -> [String] {
        let rows = try await names { _ in true }
        let stores = access.stores.fileStores
        let names = try await changeEach(rows: rows, stores: stores, usesKeys: !all) { item, read, keys in
            guard let info = self.info(item.name), info.security != .none, info.domain.word == item.domain.word else {
                return .keep
            }
            return try !all && self.opens(item.name, info: info, read: read, keys: keys) ? .keep : .remove
        }
        return Set(names.map(publicName)).sorted()
    }

    private func opens(_ name: String, info: KeyInfo, read: ValueReader, keys: KeySet) throws -> Bool {
        do {
            if let stored = try read() { _ = try access.open(stored, name: name, info: info, keys: keys) }
            return true
        } catch let error as SettingsError where Self.losses.contains(error.code) {
            return false
        }
    }

    // MARK: Parts

    /// Returns the names of rows whose values match a condition, and of those with an unreadable value.
    private func names(where isMeant: @escaping @Sendable (StoredValue) -> Bool) async throws -> [String] {
        try await access.runner.read { db in
            var names: [String] = []
            try SettingTable.forEachRow(db) { row in
                guard case .success(let value) = row.value else { return names.append(row.name) }
                if let value, isMeant(value) { names.append(row.name) }
            }
            return names
        }
    }

    /// Changes rows of the database, some of them in one transaction, and values in files.
    ///
    /// - Parameters:
    ///   - rows: the names of the rows.
    ///   - stores: the stores whose values are all passed to the body.
    ///   - usesKeys: false if the body needs no data keys.
    ///   - body: decides the change of one value.
    /// - Returns: the names of removed values.
    private func changeEach(
        rows: [String], stores: [FileStore], usesKeys: Bool = true,
        _ body: @escaping @Sendable (Item, ValueReader, KeySet) throws -> StoredChange
    ) async throws -> [String] {
        var removed: [String] = []
        for page in rows.chunks(of: Self.pageSize) {
            let names = Array(page)
            removed += try await access.runner.writeDurably { db in
                try self.change(names, usesKeys: usesKeys, db, body)
            }
        }
        for store in stores {
            for name in try await store.names() {
                let isRemoved = ResultBox<Bool>()
                try await store.update(name, ring: usesKeys ? ring : nil) { read, keys in
                    let change = try body(Item(name: name, domain: .file()), read, keys)
                    if case .remove = change { isRemoved.put(true) }
                    return change
                }
                if isRemoved.value == true { removed.append(name) }
            }
        }
        return removed
    }

    private func change(
        _ names: [String], usesKeys: Bool, _ db: Database,
        _ body: (Item, ValueReader, KeySet) throws -> StoredChange
    ) throws -> [String] {
        let keys = usesKeys ? try ring.keys(db) : KeySet.none
        // The root key has been replaced since it was fetched.
        if keys.all.isEmpty, !keys.unreadable.isEmpty { throw RootKeyErrors.mismatch }
        return try names.filter { name in
            let change = try body(
                Item(name: name, domain: .database), { try SettingTable.read(name, db) }, keys)
            switch change {
            case .keep: return false
            case .put(let value):
                try SettingTable.replace(name, with: value.content.bytes, db)
                return false
            case .remove:
                try SettingTable.remove(name, keepsNote: false, now: 0, time: .now, db)
                return true
            }
        }
    }

    private func info(_ name: String) -> KeyInfo? { access.registry.entry(forStored: name)?.info }

    /// Returns the name for errors. The id of a family's member may be personal, and an unregistered key may be such a
    /// member.
    private func publicName(_ name: String) -> String { info(name)?.publicName ?? "an unregistered key" }
}
