public import Crypto
public import Foundation
import LFSSystem

/// The derivation of a key from a passphrase, with the cost of each attempt.
///
/// Source: OWASP, Password Storage Cheat Sheet. Its first choice, Argon2id, is not in swift-crypto.
public struct PassphraseHashing: Sendable, Hashable {
    enum Kind: Sendable, Hashable {
        /// With r 8 and p 1.
        case scrypt(cost: Int)
        case pbkdf2(rounds: Int)
    }

    let kind: Kind

    /// scrypt (RFC 7914) with N 2¹⁷, r 8, p 1, which needs 128 MiB of memory for each attempt.
    public static let scrypt = PassphraseHashing(kind: .scrypt(cost: 1 << 17))
    /// PBKDF2 (RFC 8018) with HMAC-SHA-256 and 600,000 rounds, for environments that require FIPS 140.
    public static let pbkdf2 = PassphraseHashing(kind: .pbkdf2(rounds: 600_000))

    /// PBKDF2 for tests, which would take long in a debug build otherwise.
    package static func pbkdf2(unsafeRounds: Int) -> PassphraseHashing {
        PassphraseHashing(kind: .pbkdf2(rounds: unsafeRounds))
    }

    /// scrypt with a small cost, for tests.
    package static func scrypt(unsafeCost: Int) -> PassphraseHashing {
        PassphraseHashing(kind: .scrypt(cost: unsafeCost))
    }

    /// Derives a key of 256 bits from a passphrase, for an app that stores the salt.
    ///
    /// The derivation takes a large part of a second on a background thread. ``scrypt`` needs 128 MiB of memory.
    ///
    /// - Parameters:
    ///   - passphrase: the passphrase.
    ///   - salt: at least 16 random bytes, different for each use.
    /// - Throws: an error of the cryptography library, for example if there is too little memory.
    public func key(of passphrase: Passphrase, salt: Data) async throws -> SymmetricKey {
        let parameters = PassphraseParameters(self, salt: salt)
        return try await BlockingPool.shared.run { _ in try parameters.key(of: passphrase) }
    }
}
