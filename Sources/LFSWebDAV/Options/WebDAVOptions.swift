package import LFSHTTP
public import LFSStorage

/// How a ``WebDAVStorage`` uploads and connects. The defaults suit most apps.
@dynamicMemberLookup
public struct WebDAVOptions: Sendable {
    /// Whether every upload is read back and its SHA-256 compared before it counts. Without it the server's word on the
    /// size has to do, and each file is read back once before its local copy is freed.
    public var readsBack = false
    /// How it connects. Its settings can be named here as well: `options.uploadLimit`.
    public var connection = ConnectionOptions()

    /// What sends the requests, and ends with the storage; nil for the engine that this platform has.
    package var transport: (any HTTPTransport)?

    /// The defaults.
    public init() {}

    /// A setting of the ``connection``.
    public subscript<Value>(dynamicMember setting: WritableKeyPath<ConnectionOptions, Value>) -> Value {
        get { connection[keyPath: setting] }
        set { connection[keyPath: setting] = newValue }
    }
}
