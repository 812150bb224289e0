package import LFSHTTP
public import LFSStorage

/// How an ``S3Storage`` uploads and connects. The defaults suit most apps.
@dynamicMemberLookup
public struct S3Options: Sendable {
    /// How the client proves who it is to the server.
    public typealias ClientCertificate = ConnectionOptions.ClientCertificate

    /// How the server keeps objects encrypted.
    public enum Encryption: Hashable, Sendable {
        /// With keys of the server's own (`AES256`).
        case managed
        /// With a key of the key management service; nil for the account's default key.
        case kms(keyID: String?)
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
    /// How it connects. Its settings can be named here as well: `options.uploadLimit`.
    public var connection = ConnectionOptions()

    /// What sends the requests, and ends with the storage; nil for the engine that this platform has. One that is given
    /// connects as it likes, whatever the ``connection`` says.
    package var transport: (any HTTPTransport)?

    /// The defaults.
    public init() {}

    /// A setting of the ``connection``.
    public subscript<Value>(dynamicMember setting: WritableKeyPath<ConnectionOptions, Value>) -> Value {
        get { connection[keyPath: setting] }
        set { connection[keyPath: setting] = newValue }
    }
}
