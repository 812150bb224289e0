package import LFSHTTP
public import LFSStorage

/// The upload and connection settings of a ``SignedURLStorage``. The defaults suit most apps.
@dynamicMemberLookup
public struct SignedURLOptions: Sendable {
    /// The number of concurrent parts of all files together, at least 1. The default is 4.
    public var maxConcurrentParts = 4
    /// If true (default), the signatures of files that wait in the queue are requested together in advance.
    public var signsAhead = true
    /// The connection settings for the signing server and the store. They are also available directly, as in
    /// `options.uploadLimit`.
    public var connection = ConnectionOptions()

    /// The transport for all requests, which the storage shuts down. nil uses the platform's engine.
    package var transport: (any HTTPTransport)?
    /// The clock for the age of signatures and for batches. It is monotonic, so changes of the device's date do not
    /// affect it.
    package var clock: any Clock<Duration> = ContinuousClock()

    /// Creates the default options.
    public init() {}

    /// A setting of the ``connection``.
    public subscript<Value>(dynamicMember setting: WritableKeyPath<ConnectionOptions, Value>) -> Value {
        get { connection[keyPath: setting] }
        set { connection[keyPath: setting] = newValue }
    }
}
