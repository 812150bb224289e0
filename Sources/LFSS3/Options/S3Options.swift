package import LFSHTTP

/// How an ``S3Storage`` uploads and connects. The defaults suit most apps.
public struct S3Options: Sendable {
    /// How the server keeps objects encrypted.
    public enum Encryption: Hashable, Sendable {
        /// With keys of the server's own (`AES256`).
        case managed
        /// With a key of the key management service; nil for the account's default key.
        case kms(keyID: String?)
    }

    /// How the client proves who it is to the server (mutual TLS): the paths of two PEM files.
    public struct ClientCertificate: Hashable, Sendable {
        /// The certificate, and what leads from it to the authority.
        public var certificate: String
        /// The key.
        public var key: String

        /// A certificate and its key, each by the path of its file. Nothing is read before the first connection.
        ///
        /// - Parameters:
        ///   - certificate: the path of the certificate's PEM file.
        ///   - key: the path of the PEM file with the private key.
        public init(certificate: String, key: String) {
            self.certificate = certificate
            self.key = key
        }
    }

    /// What is special about the server; nil to go by the endpoint's host.
    public var provider: S3Provider?
    /// Files from this size on, in bytes, are uploaded in parts, which go on after an interruption.
    public var multipartThreshold: Int64 = 32 << 20
    /// The size of a part in bytes; it grows for files that would have too many parts. nil lets the file's size decide.
    public var partSize: Int64?
    /// How many parts are under way at once, of all files together.
    public var maxConcurrentParts = 6
    /// The storage class of new objects, such as `STANDARD_IA`; nil for the bucket's default.
    public var storageClass: String?
    /// How new objects are encrypted; nil for the bucket's default.
    public var encryption: Encryption?
    /// A canned ACL for new objects. Without one they are as private as the bucket.
    public var cannedACL: String?
    /// Whether an `http` endpoint is allowed. Bytes and signatures can be read on the way then.
    public var allowsPlainHTTP = false
    /// The path of a PEM file with the authorities to trust instead of the system's.
    public var certificateAuthorities: String?
    /// For servers that ask for one.
    public var clientCertificate: ClientCertificate?
    /// Whether the proxies of the environment are followed: `https_proxy` or `http_proxy` by the endpoint's scheme,
    /// else `all_proxy`, and `no_proxy` with the hosts that are reached without. Off by default, so that no variable
    /// leads requests elsewhere unasked. A proxy for `https` sees no more than the server's name.
    public var usesProxyFromEnvironment = false
    /// The time for connecting.
    public var connectTimeout: Duration = .seconds(15)
    /// How long a transfer may stand still.
    public var stallTimeout: Duration = .seconds(60)
    /// Bytes per second of all uploads together; nil for no limit.
    public var uploadLimit: Int?
    /// Bytes per second of all downloads together; nil for no limit.
    public var downloadLimit: Int?

    /// What sends the requests, and ends with the storage; nil for the engine that this platform has. One that is given
    /// connects as it likes: the settings above do not reach it.
    package var transport: (any HTTPTransport)?

    /// The defaults.
    public init() {}
}
