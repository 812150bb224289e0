import Foundation
import GRDB
import LFSDatabase

/// Changes the data key, forgets retired ones, and gives up what cannot be read.
struct KeyRotation: Sendable {
    let access: ValueAccess

    private static let pageSize = 100

    private var ring: KeyRing { access.sealing.ring }

    // MARK: Rotation

    /// A new data key, on the device, and then the values, page by page. Each envelope names its key, so that a kill
    /// anywhere leaves values that open.
    func rotate() async throws -> RotationReport {
        try await ring.rotate()
        var report = RotationReport()
        try await rewriteRows(&report)
        // Those of other routers too: their catalogs are not known here, and their values need no catalog for it.
        for store in try await access.stores.usedFileStores() { try await rewriteFiles(store, &report) }
        report.unreadable = Set(report.unreadable).sorted()
        return report
    }

    private func rewriteRows(_ report: inout RotationReport) async throws {
        var last = ""
        while true {
            let after = last
            let page = try await access.runner.read { db in
                try SettingTable.page(after: after, limit: Self.pageSize, db)
            }
            guard let end = page.last?.name else { return }
            guard end > last || last.isEmpty else { throw Self.unordered }
            last = end
            let names = page.filter { isEnvelope($0.bytes, $0.name, isFile: false) }.map(\.name)
            if names.isEmpty { continue }
            let (rewritten, unreadable) = try await access.runner.write { db in try self.rewrite(names, db) }
            report.rewritten += rewritten
            report.unreadable += unreadable.map(publicName)
        }
    }

    private func rewrite(_ names: [String], _ db: Database) throws -> (rewritten: Int, unreadable: [String]) {
        let keys = try ring.keys(db)
        var (rewritten, unreadable): (Int, [String]) = (0, [])
        for name in names {
            guard let stored = try SettingTable.read(name, db), Envelope.isEnvelope(stored.content.bytes) else {
                continue
            }
            switch try reclosed(stored, name, .database, keys) {
            case .put(let value):
                try SettingTable.replace(name, stored.content.bytes, with: value.content.bytes, db)
                rewritten += 1
            case .keep: continue
            case .remove: unreadable.append(name)
            }
        }
        return (rewritten, unreadable)
    }

    private func rewriteFiles(_ store: FileStore, _ report: inout RotationReport) async throws {
        for name in try await store.names() {
            let outcome = Box<(Int, Bool)>()
            try await store.update(name, keys: .ring(ring)) { read, keys in
                outcome.put((0, false))
                do {
                    guard let stored = try read(), self.isEnvelope(stored.content.bytes, name, isFile: true) else {
                        return .keep
                    }
                    switch try self.reclosed(stored, name, .file(), keys) {
                    case .put(let value):
                        outcome.put((1, false))
                        return .put(value)
                    case .keep: return .keep
                    case .remove: outcome.put((0, true))
                    }
                } catch let error as SettingsError where error.code == .corrupted || error.code == .newerValue {
                    outcome.put((0, true))
                }
                return .keep
            }
            let (rewritten, isUnreadable) = try outcome.get()
            report.rewritten += rewritten
            if isUnreadable { report.unreadable.append(publicName(name)) }
        }
    }

    /// The value closed with the current key; `.remove` stands for one that cannot be opened.
    private func reclosed(
        _ stored: StoredValue, _ name: String, _ domain: StorageDomain, _ keys: KeySet
    ) throws -> StoredChange {
        let context = access.sealing.context(name, domain, stored.content)
        do {
            let header = try Envelope.header(of: stored.content.bytes)
            if header.keyID == keys.current?.id { return .keep }
            let value = try keys.open(stored.content.bytes, for: context)
            return .put(stored.with(bytes: try keys.close(value, header.suite, for: context)))
        } catch let error as SettingsError where Self.losses.contains(error.code) || error.code == .newerValue {
            return .remove
        }
    }

    /// Whether the bytes are an envelope, of whatever form. A plain key may have a value that begins as one.
    private func isEnvelope(_ bytes: Data, _ name: String, isFile: Bool) -> Bool {
        guard Envelope.isEnvelope(bytes) else { return false }
        guard let info = access.registry.entry(forStored: name)?.info, info.security == .none else { return true }
        return info.domain.word != (isFile ? "file" : "database")
    }

    // MARK: Forgetting

    /// - Returns: how many keys were forgotten.
    /// - Throws: ``SettingsError/Code/keyInUse`` while an envelope names one.
    func forgetRetired() async throws -> Int {
        let count = Box<Int>()
        // Whoever writes a file asks for the keys within its lock.
        let stores = try await access.stores.usedFileStores()
        try await withLocks(try await distinct(stores)[...]) {
            let keys = try await ring.keys()
            for store in stores {
                for name in try await store.names() { try await requireCurrent(name, store, keys) }
            }
            count.put(
                try await access.runner.writeDurably { db in
                    try self.requireCurrent(try self.ring.keys(db), db)
                    return try SettingKeyTable.removeRetired(db)
                })
        }
        return try count.get()
    }

    private func requireCurrent(_ name: String, _ store: FileStore, _ keys: KeySet) async throws {
        do {
            guard let stored = try await store.read(name) else { return }
            try require(name, stored.content.bytes, keys, isFile: true)
        } catch let error as SettingsError where error.code == .corrupted {
            // No key opens it any more.
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
            for row in page { try require(row.name, row.bytes, keys, isFile: false) }
        }
    }

    private func require(_ name: String, _ bytes: Data, _ keys: KeySet, isFile: Bool) throws {
        guard isEnvelope(bytes, name, isFile: isFile) else { return }
        switch Result(catching: { () throws(SettingsError) in try Envelope.header(of: bytes).keyID }) {
        case .success(let id):
            guard id != keys.current?.id, keys.all[id] != nil || keys.unreadable.contains(id) else { return }
        case .failure(let error):
            // Of a later form it is not known which key it names: it may be one of them.
            guard error.code == .newerValue else { return }
        }
        throw inUse(name)
    }

    private func inUse(_ name: String) -> SettingsError {
        SettingsError(
            .keyInUse,
            """
            A retired key still opens the value of \(publicName(name)), or may: a newer app has written it. Call \
            rotateKeys() first, with the newest app, and if that cannot read it, discardUnreadable() or remove it.
            """,
            key: access.registry.entry(forStored: name)?.info.publicName)
    }

    /// Each folder once, however many names it has, and in an order that is everybody's: who waits for the lock of one
    /// has none that stands behind it.
    private func distinct(_ stores: [FileStore]) async throws -> [FileStore] {
        var byIdentity: [LockedFile.Identity: FileStore] = [:]
        for store in stores { byIdentity[try await store.identity()] = store }
        return byIdentity.sorted { $0.key < $1.key }.map(\.value)
    }

    private func withLocks(_ stores: ArraySlice<FileStore>, _ body: () async throws -> Void) async throws {
        guard let first = stores.first else { return try await body() }
        try await first.withLock { _ in try await withLocks(stores.dropFirst(), body) }
    }

    // MARK: Parts

    /// Errors of a value that is lost, as opposed to one that cannot be read just now.
    static let losses: Set<SettingsError.Code> = [.corrupted, .keyMissing, .keyMismatch]

    /// The id of a family's member may be a person's, and of a key that no catalog has it is not known whether it is
    /// one.
    func publicName(_ name: String) -> String {
        access.registry.entry(forStored: name)?.info.publicName ?? "an unregistered key"
    }

    private static var unordered: SettingsError {
        SettingsError(
            .corrupted,
            "The rows of the settings cannot be read in order: another program has written a name that is none.")
    }
}
