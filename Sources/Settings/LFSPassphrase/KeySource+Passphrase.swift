import Crypto
public import LFSSettings
import LFSSystem

extension KeySource {
    /// A root key derived from a passphrase. The salt and the cost are stored in the database, the passphrase and the
    /// key are not.
    ///
    /// A passphrase other than the first one is `SettingsError.Code.keyMismatch`.
    ///
    /// - Parameters:
    ///   - hashing: the key derivation for a database that has none yet. Other databases keep theirs.
    ///   - ask: returns the passphrase. If the user does not enter it now, the closure throws `SettingsError` with the
    ///     code `locked`. The next call that needs the key asks again.
    public static func passphrase(
        _ hashing: PassphraseHashing = .scrypt, ask: @escaping @Sendable () async throws -> Passphrase
    ) -> KeySource {
        passphrase(hashing, isChecked: true, ask: ask)
    }

    /// Returns a source for tests, which may use a cost below the accepted minimum.
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
