public import Crypto
public import Foundation
import LFSSystem

extension PassphraseHashing {
    /// Makes a key of 256 bits of a passphrase, for an app that keeps the salt itself.
    ///
    /// It takes a large part of a second on a thread of its own, and the memory of the hashing.
    ///
    /// - Parameters:
    ///   - passphrase: the words.
    ///   - salt: at least 16 random bytes, others for each use.
    /// - Throws: an error of the cryptography, such as one for too little memory.
    public func key(of passphrase: Passphrase, salt: Data) async throws -> SymmetricKey {
        let parameters = PassphraseParameters(self, salt: salt)
        return try await BlockingPool.shared.run { _ in try parameters.key(of: passphrase) }
    }
}
