#if os(Linux)
import Foundation
public import LFSSettings

extension KeychainBackend {
    /// The Secret Service of the user's session: GNOME's keyring, KWallet or KeePassXC. In a sandbox it is libsecret's
    /// own file.
    ///
    /// Items are as durable as the service makes them. Their attributes, which are not secret, are the id of the
    /// database and the names of the keys.
    ///
    /// Calls throw ``SettingsError/Code/keychainUnavailable`` without a session bus, without a service on it, or if the
    /// service ends during a call. They also throw ``SettingsError/Code/locked`` and
    /// ``SettingsError/Code/promptDismissed``. LFSSettings does not fall back to another store. On a machine without a
    /// desktop use ``KeychainBackend/sealedFile(at:key:)``.
    ///
    /// - Parameters:
    ///   - mayPrompt: true if a locked keyring may ask the user for the password. With false, a call that needs a
    ///     prompt throws `locked` at once.
    ///   - deadline: the time limit of a read or a change, including the time in which the user types. After it the
    ///     call throws `locked`.
    public static func secretService(mayPrompt: Bool = true, deadline: Duration = .seconds(30)) -> KeychainBackend {
        KeychainBackend { owner in SecretServiceStore(owner, mayPrompt: mayPrompt, deadline: deadline) }
    }
}

extension StorageDomain {
    /// An item of the Secret Service that another program or an earlier version of the app has written. It is a source
    /// of migrations, which remove it at the end.
    ///
    /// The key has the serializer `.data`, and any name:
    ///
    /// ```swift
    /// .transform(from: StorageKey<Data>(
    ///     "former.token", domain: .secretServiceItem(["service": "example", "user": "me"]), serializer: .data)
    /// ) { String(decoding: $0, as: UTF8.self) }
    /// ```
    ///
    /// - Parameters:
    ///   - attributes: at least one attribute. All items that have these attributes match. The newest one is used, and
    ///     all are removed.
    ///   - mayPrompt: the same as for the key chain.
    ///   - deadline: the same as for the key chain.
    public static func secretServiceItem(
        _ attributes: [String: String], mayPrompt: Bool = true, deadline: Duration = .seconds(30)
    ) -> StorageDomain {
        let names = attributes.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        @Sendable func call<Result: Sendable>(
            _ body: @escaping @Sendable (SecretItems) async throws -> Result
        ) async throws -> Result {
            guard !attributes.isEmpty else {
                throw SettingsError(
                    .notConfigured,
                    message: "An item of the Secret Service is identified by its attributes. Give at least one.")
            }
            return try await SecretItems.run(
                mayPrompt: mayPrompt, isOurs: false, deadline: deadline, clock: ContinuousClock(), body)
        }
        return .foreign(
            ForeignSecret(
                id: "item of the Secret Service with \(names.joined(separator: ", "))",
                read: { try await call { items in try await items.find(attributes).first?.content } },
                remove: {
                    try await call { items in try await items.remove(items.find(attributes), attributes: attributes) }
                }))
    }
}
#endif
