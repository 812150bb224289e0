public import Crypto
public import Foundation
import LFSSystem

extension PassphraseHashing {
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
