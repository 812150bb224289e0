public import Foundation

/// A certificate with its private key, with which the client authenticates itself to a server (mutual TLS).
///
/// The value is a secret. As `Codable`, it can be stored in an encrypted setting or a key chain, without a file. Its
/// description contains neither the key nor the password.
public struct ClientCertificate: Hashable, Codable, Sendable, CustomStringConvertible {
    /// The bytes of a PEM file or of a PKCS#12 file (`.p12`, `.pfx`). The format is recognized.
    ///
    /// A PEM file contains the certificate, then the chain from it to the authority, and the private key. The key may
    /// be encrypted.
    public var data: Data
    /// The password of the private key, or nil if the key is not encrypted.
    public var password: String?

    /// Creates a client certificate. The first connection reads the bytes. If it cannot, for example because the
    /// password is wrong, the storage is ``StorageError/Code/misconfigured``.
    ///
    /// - Parameters:
    ///   - data: the bytes of a PEM file with certificate and key, or of a PKCS#12 file.
    ///   - password: the password of the private key, or nil if the key is not encrypted.
    public init(_ data: Data, password: String? = nil) {
        self.data = data
        self.password = password
    }

    /// A text without the secret.
    public var description: String { "a client certificate of \(data.count) bytes" }
}

extension ClientCertificate: CustomReflectable {
    /// An empty mirror, so that dumps do not contain the secret.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
