/// Where the values of the domain `.keychain` are.
///
/// It is chosen by name, and what was used is written down: another one later is
/// ``SettingsError/Code/keychainReplaced``, and never the absence of a value.
public struct KeychainBackend: Sendable {
    package let makeStore: @Sendable (SecretOwner) throws -> any SecretStore

    package init(makeStore: @escaping @Sendable (SecretOwner) throws -> any SecretStore) {
        self.makeStore = makeStore
    }

    /// One file of encrypted items, for machines without a desktop.
    ///
    /// With a key file it protects backups, and against other users, not against programs of the same user.
    ///
    /// - Parameters:
    ///   - path: the file's, an absolute one; its folder has to exist and to belong to this user, who alone may write
    ///     to it (mode 0700 or 0755). Several databases may share the file.
    ///   - key: the source of its key, such as ``KeySource/keyFile(_:)`` or ``KeySource/credential(_:)``; not
    ///     ``KeySource/keychain``.
    public static func sealedFile(at path: String, key: KeySource) -> KeychainBackend {
        KeychainBackend { owner in try SealedFile(path: path, source: key, owner: owner) }
    }
}
