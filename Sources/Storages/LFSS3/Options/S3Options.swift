package import LFSHTTP
public import LFSStorage

/// The upload and connection settings of an ``S3Storage``. The defaults suit most apps.
@dynamicMemberLookup
public struct S3Options: Sendable {
    /// The encryption of objects on the server.
    public enum Encryption: Hashable, Sendable {
        /// Encryption with keys that the server manages (`AES256`).
        case managed
        /// Encryption with a key of the key management service. nil uses the account's default key.
        case kms(keyID: String?)
    }

    /// The properties of the server. nil detects them from the endpoint's host.
    public var provider: S3Provider?
    /// The file size in bytes from which files are uploaded in parts. Such uploads are resumed after an interruption.
    /// The default is 32 MiB.
    public var multipartThreshold: Int64 = 32 << 20
    /// The size of a part in bytes. It is increased for files that would have too many parts. nil (default) derives it
    /// from the file's size.
    public var partSize: Int64?
    /// The number of concurrent parts of all files together. The default is 6.
    public var maxConcurrentParts = 6
    /// The storage class of new objects, such as `STANDARD_IA`. nil uses the bucket's default.
    public var storageClass: String?
    /// The encryption of new objects. nil uses the bucket's default.
    public var encryption: Encryption?
    /// A canned ACL for new objects. Without one, the bucket's access rules apply.
    public var cannedACL: String?
    /// The connection settings. They are also available directly, as in `options.uploadLimit`.
    public var connection = ConnectionOptions()

    /// The transport for all requests, which the storage shuts down. nil uses the platform's engine. A custom transport
    /// ignores ``connection``.
    package var transport: (any HTTPTransport)?

    /// Creates the default options.
    public init() {}

    /// A setting of the ``connection``.
    public subscript<Value>(dynamicMember setting: WritableKeyPath<ConnectionOptions, Value>) -> Value {
        get { connection[keyPath: setting] }
        set { connection[keyPath: setting] = newValue }
    }
}
