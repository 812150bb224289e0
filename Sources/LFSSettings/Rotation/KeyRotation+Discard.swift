import LFSDatabase

extension KeyRotation {
    /// Removes encrypted values that cannot be read: whose key is lost, or that are damaged.
    ///
    /// Where the root key itself is lost these are all, and the data keys go with them; the next value gets a new one.
    /// - Returns: the keys, or their families, whose values were removed.
    func discard() async throws -> [String] {
        let ring = access.sealing.ring
        var isLost = false
        do {
            try await ring.load()
        } catch let error as SettingsError where Self.losses.contains(error.code) {
            isLost = true
        }
        var names = try await discardRows(all: isLost)
        for store in access.stores.fileStores { names += try await discardFiles(store, all: isLost) }
        if isLost {
            // After the values, so that a kill before it leaves a key table that is not empty: the next call goes on.
            try await access.runner.writeDurably { db in
                try SettingKeyTable.removeAll(db)
                try SettingsStateTable.noteRootKey(nil, db)
            }
            ring.forget()
            try await ring.load()
        }
        return Set(names.map(publicName)).sorted()
    }

    private func discardRows(all: Bool) async throws -> [String] {
        let access = access
        return try await access.runner.writeDurably { db in
            let keys = all ? KeySet.none : try access.sealing.ring.keys(db)
            var discarded: [String] = []
            for name in try SettingTable.names(db) {
                guard let info = access.registry.entry(forStored: name)?.info, info.domain.isDatabase,
                    info.security != .none
                else { continue }
                if !all, try Self.opens(name, info, access, keys, { try SettingTable.read(name, db) }) { continue }
                try SettingTable.remove(name, keepsNote: false, now: 0, db)
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
            let isGone = Box<Bool>()
            let access = access
            try await store.update(name, keys: all ? .none : .ring(access.sealing.ring)) { read, keys in
                let opens = try !all && Self.opens(name, info, access, keys, read)
                isGone.put(!opens)
                return opens ? .keep : .remove
            }
            if try isGone.get() { discarded.append(name) }
        }
        return discarded
    }

    private static func opens(
        _ name: String, _ info: KeyInfo, _ access: ValueAccess, _ keys: KeySet, _ read: ValueReader
    ) throws -> Bool {
        do {
            if let stored = try read() { _ = try access.sealing.open(stored, name, info, keys) }
            return true
        } catch let error as SettingsError where losses.contains(error.code) {
            return false
        }
    }
}
