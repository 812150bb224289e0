import Crypto
public import Foundation
import LFSHTTPStorage
public import LFSStorage
import LFSWire
import Synchronization

/// The secret that signs upload tokens and the server's own URLs. All processes of a server share it.
///
/// During a rotation, former or future secrets are accepted as well, and only the first one signs. If a secret is no
/// longer accepted, uploads in parts that it has signed start over, and its URLs become invalid. Nothing else is lost.
///
/// The mutex owns the keys.
public final class SigningSecret: Sendable, CustomStringConvertible, CustomReflectable {
    /// All accepted keys. The first one signs.
    private let keys: Mutex<[SymmetricKey]>

    /// Creates a secret from random bytes.
    ///
    /// - Parameters:
    ///   - bytes: at least 32 random bytes, which must be kept secret.
    ///   - others: the bytes of secrets that do not sign, but whose signatures are accepted.
    /// - Throws: `StorageError.Code.invalidRequest` for fewer than 32 bytes.
    public init(_ bytes: Data, accepting others: [Data] = []) throws(StorageError) {
        keys = Mutex(try Self.keys([bytes] + others))
    }

    /// Replaces the secrets of all services that use this one.
    ///
    /// - Parameters:
    ///   - bytes: the bytes of the secret that signs from now on.
    ///   - others: the bytes of secrets whose signatures are accepted.
    /// - Throws: `StorageError.Code.invalidRequest` for fewer than 32 bytes. The secrets then stay the same.
    public func replace(with bytes: Data, accepting others: [Data] = []) throws(StorageError) {
        let keys = try Self.keys([bytes] + others)
        self.keys.withLock { $0 = keys }
    }

    private static func keys(_ secrets: [Data]) throws(StorageError) -> [SymmetricKey] {
        guard secrets.allSatisfy({ $0.count >= 32 }) else {
            throw StorageError(.invalidRequest, message: "A signing secret needs at least 32 random bytes.")
        }
        return secrets.map { SymmetricKey(data: $0) }
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
        let key = keys.withLock { $0[0] }
        return Hex.text(Data(HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: key)))
    }

    /// Returns true if one of the secrets has created a code. The time of a comparison does not depend on where the
    /// codes differ.
    func isCode(_ code: String, purpose: String, lines: [String]) -> Bool {
        let text = ([purpose] + lines).joined(separator: "\n")
        guard WireFormat.isHex(code, byteCount: 32), let bytes = Hex.bytes(code) else { return false }
        return keys.withLock { $0 }.contains { key in
            HMAC<SHA256>.isValidAuthenticationCode(bytes, authenticating: Data(text.utf8), using: key)
        }
    }
}
