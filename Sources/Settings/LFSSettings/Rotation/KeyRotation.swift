import Foundation
import GRDB
import LFSDatabase

/// The operations on data keys: rotating them, deleting retired ones, and removing values that cannot be read.
struct KeyRotation: Sendable {
    let access: ValueAccess

    private static let pageSize = 100

    private var ring: KeyRing { access.ring }

    // MARK: Rotation

    /// Adds a durable new data key, then encrypts the values again, page by page. Each envelope names its key, so all
    /// values stay readable if the process is killed at any point.
    func rotate() async throws {
        try await ring.rotate()
        try await rewriteRows()
        // Includes folders of other routers. Their catalogs are unknown here, but encrypting values again needs no
        // catalog.
        for store in try await access.stores.usedFileStores() { try await rewriteFiles(store) }
    }

    private func rewriteRows() async throws {
        var last = ""
        while true {
            let page = try await access.runner.read { [last] db in
                try SettingTable.page(after: last, limit: Self.pageSize, db)
            }
            guard let end = page.last?.name else { return }
            guard end > last || last.isEmpty else { throw Self.unordered }
            last = end
            let names = page.filter { isEnvelope($0.bytes, name: $0.name, isFile: false) }.map(\.name)
            if !names.isEmpty { try await access.runner.write { db in try self.rewrite(names, db) } }
        }
    }

    private func rewrite(_ names: [String], _ db: Database) throws {
        let keys = try ring.keys(db)
        for name in names {
            guard let stored = try SettingTable.read(name, db), Envelope.isEnvelope(stored.content.bytes),
                let value = try reclosed(stored, name: name, domain: .database, keys: keys)
            else { continue }
            try SettingTable.replace(name, bytes: stored.content.bytes, with: value.content.bytes, db)
        }
    }

    private func rewriteFiles(_ store: FileStore) async throws {
        for name in try await store.names() {
            try await store.update(name, ring: ring) { read, keys in
                do {
                    guard let stored = try read(), self.isEnvelope(stored.content.bytes, name: name, isFile: true),
                        let value = try self.reclosed(stored, name: name, domain: .file(), keys: keys)
                    else { return .keep }
                    return .put(value)
                } catch let error as SettingsError where error.code == .corrupted || error.code == .newerValue {
                    return .keep
                }
            }
        }
    }

    /// Returns the value encrypted with the current key. Nil if it already is, or cannot be opened.
    private func reclosed(
        _ stored: StoredValue, name: String, domain: StorageDomain, keys: KeySet
    ) throws -> StoredValue? {
        let context = access.context(name, domain: domain, content: stored.content)
        do {
            let header = try Envelope.header(of: stored.content.bytes)
            if header.keyID == keys.current?.id { return nil }
            let value = try keys.open(stored.content.bytes, for: context)
            return stored.with(bytes: try keys.close(value, suite: header.suite, for: context))
        } catch let error as SettingsError where Self.losses.contains(error.code) || error.code == .newerValue {
            return nil
        }
    }

    /// Returns true if the bytes are an envelope of any version. The value of a plain key may happen to start like one.
    private func isEnvelope(_ bytes: Data, name: String, isFile: Bool) -> Bool {
        guard Envelope.isEnvelope(bytes) else { return false }
        guard let info = access.registry.entry(forStored: name)?.info, info.security == .none else { return true }
        return info.domain.word != (isFile ? "file" : "database")
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
                for name in try await store.names() { try await requireCurrent(name, store: store, keys: keys) }
            }
            return try await access.runner.writeDurably { db in
                let current = try self.ring.keys(db)
                guard current.current?.id == keys.current?.id, try FolderTable.all(db) == folders else { return nil }
                try self.requireCurrent(current, db)
                return try SettingKeyTable.removeRetired(db)
            }
        }
    }

    private func requireCurrent(_ name: String, store: FileStore, keys: KeySet) async throws {
        do {
            guard let stored = try await store.read(name) else { return }
            try require(name, bytes: stored.content.bytes, keys: keys, isFile: true)
        } catch let error as SettingsError where error.code == .corrupted {
            // No key opens a damaged value any more.
        } catch let error as SettingsError where error.code == .newerValue {
            throw inUse(name)
        }
    }

    private func requireCurrent(_ keys: KeySet, _ db: Database) throws {
        var last = ""
        while true {
            let page = try SettingTable.page(after: last, limit: Self.pageSize, db)
            guard let end = page.last?.name else { return }
            guard end > last || last.isEmpty else { throw Self.unordered }
            last = end
            for row in page { try require(row.name, bytes: row.bytes, keys: keys, isFile: false) }
        }
    }

    private func require(_ name: String, bytes: Data, keys: KeySet, isFile: Bool) throws {
        guard isEnvelope(bytes, name: name, isFile: isFile) else { return }
        switch Result(catching: { () throws(SettingsError) in try Envelope.header(of: bytes).keyID }) {
        case .success(let id):
            guard id != keys.current?.id, keys.all[id] != nil || keys.unreadable.contains(id) else { return }
        case .failure(let error):
            // An envelope of a newer version may name any of the retired keys.
            guard error.code == .newerValue else { return }
        }
        throw inUse(name)
    }

    private func inUse(_ name: String) -> SettingsError {
        SettingsError(
            .keyInUse,
            message: """
                The value of \(publicName(name)) still needs a retired key, or may need one because a newer app has \
                written it. First call rotateKeys() with the newest app. If that app cannot read the value, call \
                discardUnreadable() or remove the value.
                """,
            key: access.registry.entry(forStored: name)?.info.publicName)
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

    // MARK: Parts

    /// The errors of a value that is lost, as opposed to one that is only unreadable for now.
    static let losses: Set<SettingsError.Code> = [.corrupted, .keyMissing, .keyMismatch]

    /// Returns the name for errors. The id of a family's member may be personal, and an unregistered key
    /// may be such a member.
    func publicName(_ name: String) -> String {
        access.registry.entry(forStored: name)?.info.publicName ?? "an unregistered key"
    }

    private static var unordered: SettingsError {
        SettingsError(
            .corrupted,
            message:
                "The rows of the settings cannot be read in order. Another program has written an invalid name.")
    }
}
