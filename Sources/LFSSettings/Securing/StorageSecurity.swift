import Foundation

/// How a value is kept from eyes that it is not for.
public struct StorageSecurity: Hashable, Sendable {
    /// How envelopes are closed; nil for none.
    let suite: EnvelopeSuite?

    /// The value stands there as its serializer writes it.
    public static let none = StorageSecurity(suite: nil)
    /// In an envelope of AES-256-GCM (NIST SP 800-38D), closed with a data key that the router's root key opens.
    public static let encrypted = StorageSecurity(suite: .aesGCM)
    /// As ``encrypted``, with ChaCha20-Poly1305 (RFC 8439): for processors without AES instructions.
    public static let encryptedWithChaCha20 = StorageSecurity(suite: .chaChaPoly)
}

extension StorageSecurity: CustomStringConvertible {
    /// Its name, as the audit shows it.
    public var description: String {
        switch suite {
        case nil: "none"
        case .aesGCM: "AES-256-GCM"
        case .chaChaPoly: "ChaCha20-Poly1305"
        }
    }
}

/// The number in an envelope that says how it is closed.
enum EnvelopeSuite: UInt8, Sendable {
    case aesGCM = 1
    case chaChaPoly = 2

    /// What HKDF derives the key of a message for.
    var info: Data {
        switch self {
        case .aesGCM: Self.aesInfo
        case .chaChaPoly: Self.chaChaInfo
        }
    }

    private static let aesInfo = Data("lfs-settings/1/1".utf8)
    private static let chaChaInfo = Data("lfs-settings/1/2".utf8)
}
