public import GRDB
import LFSDatabase

extension StorageRouter {
    /// Returns a list of the registered keys and the stored values, with unreadable values and names that no catalog
    /// has. It never contains a value.
    ///
    /// - Throws: the database's error. The audit itself names places that cannot be read.
    public nonisolated func audit() async throws -> SettingsAudit {
        try await SettingsError.catching(nil) {
            var audit = try await SettingsAuditor(access: access).audit()
            audit.companions = companions
            return audit
        }
    }

    /// Removes all values of all keys, including those that no catalog has. Values in the database are removed within
    /// this transaction, those in files and in the key chain after its commit.
    ///
    /// Once the transaction commits, all values count as removed, even if the process ends. The next call that needs a
    /// file or the key chain, or the next open, removes the rest. A router without a key chain leaves the secrets to
    /// one that has it. Values of earlier versions that were not migrated yet are not migrated later. A backup from
    /// before the call still contains the keys of its encrypted values. `UserDefaults` is not touched.
    ///
    /// Other devices keep their values. This device accepts none of them until a router is opened again, and withdraws
    /// what it has published. To remove a value on all devices, remove its key.
    ///
    /// - Throws: the database's error.
    public nonisolated func removeAll(in db: Database) throws {
        try SettingsError.catchingNow(nil) { try access.beginReset(db) }
    }

    /// Does the same as ``removeAll(in:)`` in its own transaction, and returns when all values are deleted.
    ///
    /// - Throws: errors of the database, the files and the key chain. The rest is deleted later then.
    public nonisolated func removeAll() async throws {
        try await SettingsError.catching(nil) {
            let access = access
            try await access.runner.writeDurably { db in try access.beginReset(db) }
            try await access.resets.finish()
        }
    }
}
