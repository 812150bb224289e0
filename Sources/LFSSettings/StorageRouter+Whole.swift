public import GRDB
import LFSDatabase

extension StorageRouter {
    /// What is registered and what is stored, with what cannot be read and what no catalog knows. Never a value.
    ///
    /// - Throws: the database's error. A place that cannot be looked at is named in the audit.
    public nonisolated func audit() async throws -> SettingsAudit {
        try await SettingsError.catching(nil) {
            var audit = try await SettingsAuditor(access: access).audit()
            audit.companions = companions
            return audit
        }
    }

    /// Removes all values of all keys, those that no catalog knows too: in the database within this transaction, and
    /// after its commit those in files and in the key chain.
    ///
    /// With the commit they count as removed, whenever the process ends; the next call that needs a file or the key
    /// chain, or the next open, removes what is left. A router without a key chain leaves the secrets to one that has
    /// it. Values of earlier versions that could not be taken over yet do not come back. Encrypted values in a backup
    /// from before keep their keys there. `UserDefaults` is not touched.
    ///
    /// Other devices keep theirs. This one takes none of them until a router is opened anew, and withdraws what it has
    /// published; to remove a value everywhere, remove its key.
    ///
    /// - Throws: the database's error.
    public nonisolated func removeAll(in db: Database) throws {
        try SettingsError.catchingNow(nil) { try access.beginReset(db) }
    }

    /// As ``removeAll(in:)`` in a transaction of its own, and returns when all of them are gone.
    ///
    /// - Throws: errors of the database, the files and the key chain; what is left then goes later.
    public nonisolated func removeAll() async throws {
        try await SettingsError.catching(nil) {
            let access = access
            try await access.runner.writeDurably { db in try access.beginReset(db) }
            try await access.resets.finish()
        }
    }
}
