package import LFSHTTP
public import LFSStorage

/// The upload and connection settings of a ``WebDAVStorage``. The defaults suit most apps.
@dynamicMemberLookup
public struct WebDAVOptions: Sendable {
    /// If true, every upload is read back, and it succeeds only if its SHA-256 matches.
    ///
    /// If false (default), the size that the server reports is enough. Each file is then read back once before its
    /// local copy is freed.
    public var readsBack = false
    /// The connection settings. They are also available directly, as in `options.uploadLimit`.
    public var connection = ConnectionOptions()

    /// The transport for all requests, which the storage shuts down. nil uses the platform's engine.
    package var transport: (any HTTPTransport)?

    /// Creates the default options.
    public init() {}

    /// A setting of the ``connection``.
    public subscript<Value>(dynamicMember setting: WritableKeyPath<ConnectionOptions, Value>) -> Value {
        get { connection[keyPath: setting] }
        set { connection[keyPath: setting] = newValue }
    }
}
