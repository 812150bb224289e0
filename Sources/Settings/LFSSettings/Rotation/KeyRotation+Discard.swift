import LFSDatabase
import LFSSystem

extension KeyRotation {
    /// Removes encrypted values that cannot be read, because they or their data keys are damaged.
    ///
    /// - Returns: the keys, or their families, whose values were removed.
    /// - Throws: the error that made the root key unavailable.
    func discard() async throws -> [String] {
        // Another process may have replaced the root key, and the one in memory opens none of the values then.
        _ = try await access.ring.keys()
        return try await discard(all: false)
    }

    /// Removes all encrypted values and their data keys when the root key is lost, and starts over with another root
    /// key.
    func giveUpRootKey() async throws -> [String] {
        let ring = access.ring
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
        var names = try await discardRows(all: all)
        for store in access.stores.fileStores { names += try await discardFiles(store, all: all) }
        return Set(names.map(publicName)).sorted()
    }

    private func discardRows(all: Bool) async throws -> [String] {
        let access = access
        return try await access.runner.writeDurably { db in
            let keys = all ? KeySet.none : try access.ring.keys(db)
            // The root key has been replaced since it was fetched.
            if keys.all.isEmpty, !keys.unreadable.isEmpty { throw RootKeyErrors.mismatch }
            var discarded: [String] = []
            for name in try SettingTable.names(db) {
                guard let info = access.registry.entry(forStored: name)?.info, info.domain.isDatabase,
                    info.security != .none
                else { continue }
                if !all,
                    try Self.opens(
                        name, info: info, access: access, keys: keys, read: { try SettingTable.read(name, db) })
                {
                    continue
                }
                try SettingTable.remove(name, keepsNote: false, now: 0, time: .now, db)
                discarded.append(name)
            }
            return discarded
        }
    }

    private func discardFiles(_ store: FileStore, all: Bool) async throws -> [String] {
        var discarded: [String] = []
        for name in try await store.names() {
            guard let info = access.registry.entry(forStored: name)?.info, info.security != .none,
                case .file = info.domain.kind
            else { continue }
            let isGone = ResultBox<Bool>()
            let access = access
            try await store.update(name, ring: all ? nil : access.ring) { read, keys in
                let opens = try !all && Self.opens(name, info: info, access: access, keys: keys, read: read)
                isGone.put(!opens)
                return opens ? .keep : .remove
            }
            if isGone.value == true { discarded.append(name) }
        }
        return discarded
    }

    private static func opens(
        _ name: String, info: KeyInfo, access: ValueAccess, keys: KeySet, read: ValueReader
    ) throws -> Bool {
        do {
            if let stored = try read() { _ = try access.open(stored, name: name, info: info, keys: keys) }
            return true
        } catch let error as SettingsError where losses.contains(error.code) {
            return false
        }
    }
}
