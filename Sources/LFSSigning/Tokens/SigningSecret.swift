import Crypto
public import Foundation
import LFSHTTPStorage
public import LFSStorage
import LFSWire

/// What a server signs upload tokens and URLs of its own with. All processes of one server have the same; with another
/// one, uploads in parts that are under way begin anew, and nothing else happens.
public struct SigningSecret: Sendable, CustomStringConvertible, CustomReflectable {
    private let key: SymmetricKey

    /// - Parameter bytes: 32 random bytes or more, which nobody else knows.
    /// - Throws: `StorageError.Code.invalidRequest` for fewer.
    public init(_ bytes: Data) throws(StorageError) {
        guard bytes.count >= 32 else {
            throw StorageError(.invalidRequest, "A signing secret has 32 random bytes or more.")
        }
        key = SymmetricKey(data: bytes)
    }

    /// 32 new bytes, to be kept where only the server can read them.
    public static func random() -> Data { SymmetricKey(size: .bits256).withUnsafeBytes { Data($0) } }

    /// Says nothing of it.
    public var description: String { "SigningSecret" }
    /// Says nothing of it.
    public var customMirror: Mirror { Mirror(self, children: []) }

    /// HMAC with SHA-256 (RFC 2104) of some lines, in lowercase hex.
    ///
    /// - Parameters:
    ///   - purpose: what is signed, so that a code for one purpose is none for another.
    ///   - lines: none but the last may have a line break.
    func code(_ purpose: String, _ lines: [String]) -> String {
        let text = ([purpose] + lines).joined(separator: "\n")
        return Hex.text(Data(HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: key)))
    }

    /// Compares in a time that does not depend on where the two differ.
    func isCode(_ code: String, _ purpose: String, _ lines: [String]) -> Bool {
        let text = ([purpose] + lines).joined(separator: "\n")
        guard WireFormat.isHex(code, byteCount: 32), let bytes = Hex.bytes(code) else { return false }
        return HMAC<SHA256>.isValidAuthenticationCode(bytes, authenticating: Data(text.utf8), using: key)
    }
}
