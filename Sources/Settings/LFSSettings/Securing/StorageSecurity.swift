import Foundation

/// The encryption of a value.
public struct StorageSecurity: Hashable, Sendable {
    /// The cipher of the envelope. Nil for no encryption.
    let suite: EnvelopeSuite?

    /// No encryption: the value is stored as its serializer writes it.
    public static let none = StorageSecurity(suite: nil)
    /// An envelope with AES-256-GCM (NIST SP 800-38D). It is encrypted with a data key, which the router's root key
    /// decrypts.
    public static let encrypted = StorageSecurity(suite: .aesGCM)
    /// The same as ``encrypted``, with ChaCha20-Poly1305 (RFC 8439), for processors without AES instructions.
    public static let encryptedWithChaCha20 = StorageSecurity(suite: .chaChaPoly)
}

extension StorageSecurity: CustomStringConvertible {
    /// The name that the audit shows.
    public var description: String {
        switch suite {
        case nil: "none"
        case .aesGCM: "AES-256-GCM"
        case .chaChaPoly: "ChaCha20-Poly1305"
        }
    }
}

/// The cipher of an envelope, as the number stored in it.
enum EnvelopeSuite: UInt8, Sendable {
    case aesGCM = 1
    case chaChaPoly = 2

    /// The `info` parameter of HKDF for the key of a message.
    var info: Data { Data("lfs-settings/1/\(rawValue)".utf8) }
}
