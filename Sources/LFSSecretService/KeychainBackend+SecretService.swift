#if os(Linux)
import Foundation
public import LFSSettings

extension KeychainBackend {
    /// The Secret Service of the user's session: GNOME's keyring, KWallet, KeePassXC, or in a sandbox the file that
    /// libsecret has there.
    ///
    /// Items are as durable as that service makes them. Their attributes, which are not secret, are the id of the
    /// database and the names of the keys.
    ///
    /// Errors of calls: ``SettingsError/Code/keychainUnavailable`` without a session bus, without a service on it, or
    /// when it ends in the middle; ``SettingsError/Code/locked``; ``SettingsError/Code/promptDismissed``. Nothing else
    /// takes its place: on a machine without a desktop name ``KeychainBackend/sealedFile(at:key:)``.
    ///
    /// - Parameters:
    ///   - mayPrompt: whether a locked keyring may ask its user for the password. Without it such a call is `locked` at
    ///     once.
    ///   - deadline: how long a look or a change may take, the user's typing included; then it is `locked`.
    public static func secretService(mayPrompt: Bool = true, deadline: Duration = .seconds(30)) -> KeychainBackend {
        KeychainBackend { owner in SecretServiceStore(owner, mayPrompt: mayPrompt, deadline: deadline) }
    }
}

extension StorageDomain {
    /// An item of the Secret Service that another program, or an earlier version of the app, has written. It is a
    /// source of migrations, which remove it at their end.
    ///
    /// The key of it has the serializer `.data`, and any name:
    ///
    /// ```swift
    /// .transform(from: StorageKey<Data>(
    ///     "former.token", domain: .secretServiceItem(["service": "example", "user": "me"]), serializer: .data)
    /// ) { String(decoding: $0, as: UTF8.self) }
    /// ```
    ///
    /// - Parameters:
    ///   - attributes: all items that have these, and perhaps more, are meant; at least one. Of several the newest
    ///     counts, and all are removed.
    ///   - mayPrompt: as for the key chain.
    ///   - deadline: as for the key chain.
    public static func secretServiceItem(
        _ attributes: [String: String], mayPrompt: Bool = true, deadline: Duration = .seconds(30)
    ) -> StorageDomain {
        let names = attributes.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
        @Sendable func call<Result: Sendable>(
            _ body: @escaping @Sendable (SecretItems) async throws -> Result
        ) async throws -> Result {
            guard !attributes.isEmpty else {
                throw SettingsError(
                    .notConfigured, "An item of the Secret Service is named by its attributes: give one.")
            }
            return try await SecretItems.run(
                mayPrompt: mayPrompt, isOurs: false, deadline: deadline, clock: ContinuousClock(), body)
        }
        return .foreign(
            ForeignSecret(
                id: "item of the Secret Service with \(names.joined(separator: ", "))",
                read: { try await call { items in try await items.find(attributes).first?.content } },
                remove: { try await call { items in try await items.remove(items.find(attributes), attributes) } }))
    }
}
#endif
