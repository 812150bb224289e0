/// How a passphrase becomes a key, with what it costs to try one.
///
/// Source: OWASP, Password Storage Cheat Sheet. Its first choice, Argon2id, is not in swift-crypto.
public struct PassphraseHashing: Sendable, Hashable {
    enum Kind: Sendable, Hashable {
        case scrypt(cost: Int, blockSize: Int, parallelism: Int)
        case pbkdf2(rounds: Int)
        case pbkdf2SHA512(rounds: Int)
    }

    let kind: Kind

    /// scrypt (RFC 7914) with N 2¹⁷, r 8, p 1: 128 MiB of memory for each try.
    public static let scrypt = PassphraseHashing(kind: .scrypt(cost: 1 << 17, blockSize: 8, parallelism: 1))
    /// PBKDF2 (RFC 8018) with HMAC-SHA-256 and 600,000 rounds, where FIPS 140 is asked for.
    public static let pbkdf2 = PassphraseHashing(kind: .pbkdf2(rounds: 600_000))
    /// PBKDF2 with HMAC-SHA-512 and 220,000 rounds.
    public static let pbkdf2SHA512 = PassphraseHashing(kind: .pbkdf2SHA512(rounds: 220_000))

    /// For tests, which a debug build makes wait long otherwise.
    package static func pbkdf2(unsafeRounds: Int) -> PassphraseHashing {
        PassphraseHashing(kind: .pbkdf2(rounds: unsafeRounds))
    }

    /// For tests: scrypt at a small cost.
    package static func scrypt(unsafeCost: Int) -> PassphraseHashing {
        PassphraseHashing(kind: .scrypt(cost: unsafeCost, blockSize: 8, parallelism: 1))
    }
}
