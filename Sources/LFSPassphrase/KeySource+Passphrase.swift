import Crypto
public import LFSSettings
import LFSSystem

extension KeySource {
    /// A root key out of a passphrase. Salt and cost are kept in the database; the passphrase and the key are not.
    ///
    /// Another passphrase than the first one is `SettingsError.Code.keyMismatch`.
    ///
    /// - Parameters:
    ///   - hashing: how it becomes a key, for a database that has none yet; others keep theirs.
    ///   - ask: returns the passphrase; it throws `SettingsError` with the code `locked` when the person does not say
    ///     it now, and is asked again by the next call that needs the key.
    public static func passphrase(
        _ hashing: PassphraseHashing = .scrypt, ask: @escaping @Sendable () async throws -> Passphrase
    ) -> KeySource {
        passphrase(hashing, isChecked: true, ask: ask)
    }

    /// For tests, at a cost below what is accepted otherwise.
    package static func passphrase(
        _ hashing: PassphraseHashing, isChecked: Bool, ask: @escaping @Sendable () async throws -> Passphrase
    ) -> KeySource {
        .noted(
            load: { note in
                guard let note else { return nil }
                let parameters = try PassphraseParameters.decoded(note, isChecked: isChecked)
                let passphrase = try await ask()
                return try await BlockingPool.shared.run { _ in try parameters.key(of: passphrase) }
            },
            make: { try PassphraseParameters.make(hashing).encoded() })
    }
}
