package import Crypto
package import Foundation
import LFSSettings
import _CryptoExtras

/// The parameters of a database's key derivation, stored next to the data keys. They are untrusted input when they are
/// read.
package struct PassphraseParameters: Codable, Sendable, Hashable {
    /// `scrypt` or `pbkdf2-sha256`.
    package var algorithm: String
    /// N of scrypt, or the number of rounds.
    package var cost: Int
    /// r of scrypt.
    package var blockSize: Int?
    /// p of scrypt.
    package var parallelism: Int?
    package var salt: Data

    static let saltCount = 32
    /// The accepted costs. Parameters below them protect too little, and parameters above them would overload this
    /// machine. scrypt needs 1 KiB for each step of its cost (128 bytes × r 8), so at most 256 MiB.
    static let costs = 1 << 14...1 << 18
    static let rounds = 210_000...10_000_000

    package init(_ hashing: PassphraseHashing, salt: Data) {
        self.salt = salt
        switch hashing.kind {
        case .scrypt(let cost):
            algorithm = "scrypt"
            self.cost = cost
            blockSize = 8
            parallelism = 1
        case .pbkdf2(let rounds):
            algorithm = "pbkdf2-sha256"
            cost = rounds
        }
    }

    static func make(_ hashing: PassphraseHashing) -> PassphraseParameters {
        let salt = SymmetricKey(size: SymmetricKeySize(bitCount: 8 * saltCount)).withUnsafeBytes { Data($0) }
        return PassphraseParameters(hashing, salt: salt)
    }

    package func encoded() throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        return try encoder.encode(self)
    }

    /// - Parameter isChecked: false only for tests, whose cost is below the minimum.
    /// - Throws: `SettingsError.Code.corrupted` for a note that no version of this module has written.
    package static func decoded(_ note: Data, isChecked: Bool) throws -> PassphraseParameters {
        let parameters: PassphraseParameters
        do { parameters = try JSONDecoder().decode(PassphraseParameters.self, from: note) } catch { throw damaged }
        if isChecked { try parameters.check() }
        return parameters
    }

    private func check() throws {
        switch algorithm {
        case "scrypt":
            let isPower = cost > 0 && cost & (cost - 1) == 0
            guard isPower, Self.costs.contains(cost), blockSize == 8, (1...16).contains(parallelism ?? 0) else {
                throw Self.damaged
            }
        case "pbkdf2-sha256":
            guard Self.rounds.contains(cost) else { throw Self.damaged }
        default: throw Self.damaged
        }
        guard (16...64).contains(salt.count) else { throw Self.damaged }
    }

    package func key(of passphrase: Passphrase, byteCount: Int = 32) throws -> SymmetricKey {
        switch algorithm {
        case "scrypt":
            try KDF.Scrypt.deriveKey(
                from: passphrase.bytes, salt: salt, outputByteCount: byteCount, rounds: cost,
                blockSize: blockSize ?? 8, parallelism: parallelism ?? 1)
        default:
            try KDF.Insecure.PBKDF2.deriveKey(
                from: passphrase.bytes, salt: salt, using: .sha256, outputByteCount: byteCount,
                unsafeUncheckedRounds: cost)
        }
    }

    private static var damaged: SettingsError {
        SettingsError(
            .corrupted,
            message: """
                The stored parameters of the passphrase (algorithm, cost, salt) were not written by LFS and are not \
                used. Restore the database from a backup, or call discardUnreadable().
                """)
    }
}
