import Crypto
public import Foundation
import LFSHTTPStorage
public import LFSStorage
import LFSWire

/// The secret that signs upload tokens and the server's own URLs. All processes of a server share it. If the secret
/// changes, uploads in parts start over, and URLs that the server has issued become invalid. Nothing else is lost.
public struct SigningSecret: Sendable, CustomStringConvertible, CustomReflectable {
    private let key: SymmetricKey

    /// - Parameter bytes: at least 32 random bytes, which must be kept secret.
    /// - Throws: `StorageError.Code.invalidRequest` for fewer bytes.
    public init(_ bytes: Data) throws(StorageError) {
        guard bytes.count >= 32 else {
            throw StorageError(.invalidRequest, message: "A signing secret needs at least 32 random bytes.")
        }
        key = SymmetricKey(data: bytes)
    }

    /// Returns 32 random bytes. Store them where only the server can read them.
    public static func random() -> Data { SymmetricKey(size: .bits256).withUnsafeBytes { Data($0) } }

    /// A text without the secret.
    public var description: String { "SigningSecret" }
    /// A mirror without the secret.
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// Returns the HMAC with SHA-256 (RFC 2104) of some lines, in lowercase hex.
    ///
    /// - Parameters:
    ///   - purpose: the purpose of the code. A code for one purpose is invalid for another.
    ///   - lines: the signed lines. Only the last one may contain a line break.
    func code(_ purpose: String, lines: [String]) -> String {
        let text = ([purpose] + lines).joined(separator: "\n")
        return Hex.text(Data(HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: key)))
    }

    /// Returns true if a code is valid. The time of the comparison does not depend on where the codes differ.
    func isCode(_ code: String, purpose: String, lines: [String]) -> Bool {
        let text = ([purpose] + lines).joined(separator: "\n")
        guard WireFormat.isHex(code, byteCount: 32), let bytes = Hex.bytes(code) else { return false }
        return HMAC<SHA256>.isValidAuthenticationCode(bytes, authenticating: Data(text.utf8), using: key)
    }
}
