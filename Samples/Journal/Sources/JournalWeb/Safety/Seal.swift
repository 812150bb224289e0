import Crypto
import Foundation

/// Signs texts, and knows its own signatures again.
struct Seal: Sendable {
    private let key: SymmetricKey

    /// - Parameters:
    ///   - secret: 32 random bytes.
    ///   - password: its digest; with another password nothing counts that was signed before. Empty for none.
    init(secret: Data, password: Data) {
        // RFC 5869.
        key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: SymmetricKey(data: secret), salt: password, info: Data("journal sessions 1".utf8),
            outputByteCount: 32)
    }

    func code(for text: String) -> String {
        Self.hex(HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: key))
    }

    /// In a time that does not depend on how much of it is right.
    func isRight(_ code: String, for text: String) -> Bool {
        Password.areEqual(Data(code.utf8), Data(self.code(for: text).utf8))
    }

    static func hex(_ bytes: some Sequence<UInt8>) -> String {
        bytes.map { byte in String(byte >> 4, radix: 16) + String(byte & 15, radix: 16) }.joined()
    }

    static func random(_ count: Int) -> Data {
        var generator = SystemRandomNumberGenerator()
        return Data((0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
    }
}
