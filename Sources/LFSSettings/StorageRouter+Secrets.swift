public import Foundation
import LFSDatabase

extension StorageRouter {
    /// Lends the bytes of a secret in memory that is overwritten afterwards.
    ///
    /// Copies that were made on the way there, by Foundation and SQLite, are not.
    ///
    /// - Parameters:
    ///   - key: of the secret.
    ///   - body: must not keep the buffer.
    /// - Throws: as ``get(_:)``; what the body throws.
    public nonisolated func withBytes<Result: Sendable>(
        of key: StorageKey<Data>, _ body: @Sendable (UnsafeRawBufferPointer) throws -> Result
    ) async throws -> Result {
        try WipedBuffer.with(try await get(key), body)
    }

    /// Makes a new data key, and encrypts every encrypted value anew with it.
    ///
    /// Values stay readable throughout, and after a kill anywhere; call it again then. The former keys stay for
    /// backups, until ``forgetRetiredKeys()``.
    ///
    /// - Throws: ``SettingsError/Code/keyMissing``, ``SettingsError/Code/keyMismatch``, ``SettingsError/Code/locked``;
    ///   errors of the database and of files.
    @discardableResult
    public nonisolated func rotateKeys() async throws -> RotationReport {
        try await SettingsError.catching(nil) { try await KeyRotation(access: access).rotate() }
    }

    /// Forgets the data keys that a rotation has retired. A backup from before the rotation keeps its own.
    ///
    /// - Returns: how many there were.
    /// - Throws: ``SettingsError/Code/keyInUse`` while a value needs one of them.
    @discardableResult
    public nonisolated func forgetRetiredKeys() async throws -> Int {
        try await SettingsError.catching(nil) { try await KeyRotation(access: access).forgetRetired() }
    }

    /// Gives up encrypted values that cannot be read although the root key is there: they are damaged, or their data
    /// key is. Of a key that goes to other devices the value comes from them again, if one of them has it.
    ///
    /// - Returns: the names of the keys, or of their families.
    /// - Throws: ``SettingsError/Code/keyMissing``, ``SettingsError/Code/keyMismatch``, ``SettingsError/Code/locked``,
    ///   and then nothing is removed: a root key that is not there, or a passphrase that was mistyped, says nothing
    ///   about the values. See ``giveUpRootKey()``.
    @discardableResult
    public nonisolated func discardUnreadable() async throws -> [String] {
        try await SettingsError.catching(nil) { try await KeyRotation(access: access).discard() }
    }

    /// Gives up a root key that is gone for good, with all encrypted values: the way on after
    /// ``SettingsError/Code/keyMissing`` and ``SettingsError/Code/keyMismatch`` when the key cannot be put back.
    ///
    /// A root key is fetched or made anew, and counts from then on: of a passphrase the one that is given now. While
    /// the present one opens the values, only those go that ``discardUnreadable()`` gives up.
    ///
    /// - Returns: the names of the keys, or of their families.
    /// - Throws: ``SettingsError/Code/locked``: what is locked is not lost. ``SettingsError/Code/keyMissing`` when no
    ///   other root key can be had; then nothing is removed.
    @discardableResult
    public nonisolated func giveUpRootKey() async throws -> [String] {
        try await SettingsError.catching(nil) { try await KeyRotation(access: access).giveUpRootKey() }
    }

    /// Takes the key chain as it is after ``SettingsError/Code/keychainReplaced``: secrets that were in the former one
    /// count as not stored from now on.
    ///
    /// - Throws: ``SettingsError/Code/notConfigured`` without a key chain; ``SettingsError/Code/locked``.
    public nonisolated func adoptKeychain() async throws {
        try await SettingsError.catching(nil) {
            guard let keychain = access.stores.keychain else {
                throw SettingsError(.notConfigured, "There is no key chain. Set StorageOptions.keychain.")
            }
            try await keychain.adopt()
        }
    }

    /// Takes folders as they are after ``SettingsError/Code/folderAbsent``: values that were in them count as not
    /// stored from now on.
    ///
    /// - Throws: errors of the system.
    public nonisolated func adoptFolders() async throws {
        try await SettingsError.catching(nil) {
            let registered = access.stores.fileStores
            for store in registered {
                try await store.notes.forget()
                try await store.prepare(isNoted: false)
            }
            // Those of keys that are registered no more would keep removals and rotations from their end.
            let others = try await access.stores.usedFileStores().filter { other in
                !registered.contains { $0.path == other.path }
            }
            for store in others where try await !store.isThere() { try await store.notes.forget() }
        }
    }
}
