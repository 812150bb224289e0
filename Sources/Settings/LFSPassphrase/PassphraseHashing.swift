/// The derivation of a key from a passphrase, with the cost of each attempt.
///
/// Source: OWASP, Password Storage Cheat Sheet. Its first choice, Argon2id, is not in swift-crypto.
public struct PassphraseHashing: Sendable, Hashable {
    enum Kind: Sendable, Hashable {
        case scrypt(cost: Int, blockSize: Int, parallelism: Int)
        case pbkdf2(rounds: Int)
        case pbkdf2SHA512(rounds: Int)
    }

    let kind: Kind

    /// scrypt (RFC 7914) with N 2¹⁷, r 8, p 1, which needs 128 MiB of memory for each attempt.
    public static let scrypt = PassphraseHashing(kind: .scrypt(cost: 1 << 17, blockSize: 8, parallelism: 1))
    /// PBKDF2 (RFC 8018) with HMAC-SHA-256 and 600,000 rounds, for environments that require FIPS 140.
    public static let pbkdf2 = PassphraseHashing(kind: .pbkdf2(rounds: 600_000))

    /// PBKDF2 for tests, which would take long in a debug build otherwise.
    package static func pbkdf2(unsafeRounds: Int) -> PassphraseHashing {
        PassphraseHashing(kind: .pbkdf2(rounds: unsafeRounds))
    }

    /// scrypt with a small cost, for tests.
    package static func scrypt(unsafeCost: Int) -> PassphraseHashing {
        PassphraseHashing(kind: .scrypt(cost: unsafeCost, blockSize: 8, parallelism: 1))
    }
}
