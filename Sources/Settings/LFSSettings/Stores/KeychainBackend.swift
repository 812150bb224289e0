/// The store for values of the domain `.keychain`.
///
/// The app chooses it explicitly, and the database records it. A different one is
/// ``SettingsError/Code/keychainReplaced`` later, and never the absence of a value.
public struct KeychainBackend: Sendable {
    package let makeStore: @Sendable (SecretOwner) throws -> any SecretStore

    package init(makeStore: @escaping @Sendable (SecretOwner) throws -> any SecretStore) {
        self.makeStore = makeStore
    }

    /// A single file of encrypted items, for machines without a desktop.
    ///
    /// With a key file it protects backups, and protects against other users. It does not protect against programs of
    /// the same user.
    ///
    /// - Parameters:
    ///   - path: the absolute path of the file. Its folder must exist, belong to this user and be writable only by this
    ///     user (mode 0700 or 0755). Several databases may share the file.
    ///   - key: the source of its key, such as ``KeySource/keyFile(_:)`` or ``KeySource/credential(_:)``, but not
    ///     ``KeySource/keychain``.
    public static func sealedFile(at path: String, key: KeySource) -> KeychainBackend {
        KeychainBackend { owner in try SealedFile(path: path, source: key, owner: owner) }
    }
}
