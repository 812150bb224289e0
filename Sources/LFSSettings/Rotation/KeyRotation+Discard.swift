import LFSDatabase

extension KeyRotation {
    /// Removes encrypted values that cannot be read: those that are damaged, or whose data key is.
    ///
    /// - Returns: the keys, or their families, whose values were removed.
    /// - Throws: why there is no root key.
    func discard() async throws -> [String] {
        try await access.sealing.ring.load()
        return try await discard(all: false)
    }

    /// Removes all encrypted values with their data keys, when the root key is lost, and begins with another one.
    func giveUpRootKey() async throws -> [String] {
        let ring = access.sealing.ring
        do {
            try await ring.load()
        } catch let error as SettingsError where Self.losses.contains(error.code) {
            // Nothing is removed before there is another one.
            let other = try await ring.obtainOther()
            let names = try await discard(all: true)
            // The data keys after the values, so that a kill between them leaves a root key that is lost still.
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
            let keys = all ? KeySet.none : try access.sealing.ring.keys(db)
            var discarded: [String] = []
            for name in try SettingTable.names(db) {
                guard let info = access.registry.entry(forStored: name)?.info, info.domain.isDatabase,
                    info.security != .none
                else { continue }
                if !all, try Self.opens(name, info, access, keys, { try SettingTable.read(name, db) }) { continue }
                try SettingTable.remove(name, keepsNote: false, now: 0, .now, db)
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
