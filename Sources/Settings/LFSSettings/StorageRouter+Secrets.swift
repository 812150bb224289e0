public import Foundation
import LFSDatabase

extension StorageRouter {
    /// Passes the bytes of a secret to a closure, in memory that is overwritten afterwards.
    ///
    /// Copies that Foundation and SQLite made on the way are not overwritten.
    ///
    /// - Parameters:
    ///   - key: the key of the secret.
    ///   - body: uses the bytes. It must not keep the buffer.
    /// - Throws: the errors of ``get(_:)``, and those of the body.
    public nonisolated func withBytes<Result: Sendable>(
        of key: StorageKey<Data>, _ body: @Sendable (UnsafeRawBufferPointer) throws -> Result
    ) async throws -> Result {
        try WipedBuffer.with(try await get(key), body)
    }

    /// Makes a new data key, and encrypts all encrypted values again with it.
    ///
    /// Values stay readable throughout, also when the process is killed at any point. In that case, call it again. The
    /// former keys are kept for backups until ``forgetRetiredKeys()``. Values that cannot be read are left unchanged.
    ///
    /// - Throws: ``SettingsError/Code/keyMissing``, ``SettingsError/Code/keyMismatch``, ``SettingsError/Code/locked``,
    ///   and errors of the database and of files.
    public nonisolated func rotateKeys() async throws {
        try await SettingsError.catching(nil) { try await KeyRotation(access: access).rotate() }
    }

    /// Deletes the data keys that a rotation has retired. A backup from before the rotation contains its own copies of
    /// them.
    ///
    /// - Returns: the number of deleted keys.
    /// - Throws: ``SettingsError/Code/keyInUse`` while a value still needs one of them.
    @discardableResult
    public nonisolated func forgetRetiredKeys() async throws -> Int {
        try await SettingsError.catching(nil) { try await KeyRotation(access: access).forgetRetired() }
    }

    /// Removes encrypted values that cannot be read although the root key is available, because they or their data keys
    /// are damaged. A value of a synced key is fetched from another device again, if one has it.
    ///
    /// - Returns: the names of the keys, or of their families.
    /// - Throws: ``SettingsError/Code/keyMissing``, ``SettingsError/Code/keyMismatch``, ``SettingsError/Code/locked``.
    ///   In these cases nothing is removed, because a missing root key or a mistyped passphrase does not prove that the
    ///   values are damaged. See ``giveUpRootKey()``.
    @discardableResult
    public nonisolated func discardUnreadable() async throws -> [String] {
        try await SettingsError.catching(nil) { try await KeyRotation(access: access).discard() }
    }

    /// Replaces a root key that is lost for good, and removes all encrypted values. Use it after
    /// ``SettingsError/Code/keyMissing`` or ``SettingsError/Code/keyMismatch``, when the key cannot be restored.
    ///
    /// The source returns or makes a root key, which is the valid one from then on. For a passphrase it is derived from
    /// the one given now. If the current root key still opens the values, only those that ``discardUnreadable()``
    /// removes are removed.
    ///
    /// - Returns: the names of the keys, or of their families.
    /// - Throws: ``SettingsError/Code/locked``, because a locked key is not lost, and ``SettingsError/Code/keyMissing``
    ///   when the source provides no other root key. Nothing is removed then.
    @discardableResult
    public nonisolated func giveUpRootKey() async throws -> [String] {
        try await SettingsError.catching(nil) { try await KeyRotation(access: access).giveUpRootKey() }
    }

    /// Accepts the key chain in its current state after ``SettingsError/Code/keychainReplaced``. Secrets of the former
    /// key chain count as not stored from now on.
    ///
    /// - Throws: ``SettingsError/Code/notConfigured`` without a key chain, and ``SettingsError/Code/locked``.
    public nonisolated func adoptKeychain() async throws {
        try await SettingsError.catching(nil) {
            guard let keychain = access.stores.keychain else {
                throw SettingsError(
                    .notConfigured, message: "There is no key chain. Set StorageOptions.keychain.")
            }
            try await keychain.adopt()
        }
    }

    /// Accepts folders in their current state after ``SettingsError/Code/folderAbsent``. Values that were in them count
    /// as not stored from now on.
    ///
    /// - Throws: errors of the system.
    public nonisolated func adoptFolders() async throws {
        try await SettingsError.catching(nil) {
            let registered = access.stores.fileStores
            for store in registered {
                try await store.forget()
                try await store.prepare()
            }
            // A missing folder of keys that are no longer registered would block removals and rotations forever.
            let others = try await access.stores.usedFileStores().filter { other in
                !registered.contains { $0.path == other.path }
            }
            for store in others where try await !store.isThere() { try await store.forget() }
        }
    }
}
