import Crypto
import Foundation

/// A key that signs texts and verifies its signatures.
struct Seal: Sendable {
    private let key: SymmetricKey

    /// - Parameters:
    ///   - secret: 32 random bytes.
    ///   - password: The digest of the password. Empty without a password. With another password all earlier signatures
    ///     are invalid.
    init(secret: Data, password: Data) {
        // RFC 5869.
        key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: secret), salt: password, info: Data("journal sessions 1".utf8),
            outputByteCount: 32)
    }

    func code(for text: String) -> String {
        Self.hex(HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: key))
    }

    /// Compares in a time that does not depend on the number of correct bytes.
    func isRight(_ code: String, for text: String) -> Bool {
        Password.isEqual(Data(code.utf8), other: Data(self.code(for: text).utf8))
    }

    static func hex(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { byte in String(byte >> 4, radix: 16) + String(byte & 15, radix: 16) }.joined()
    }

    static func random(_ count: Int) -> Data {
        var generator = SystemRandomNumberGenerator()
        return Data((0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    }
}
