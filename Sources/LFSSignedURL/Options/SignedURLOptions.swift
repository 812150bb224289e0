package import LFSHTTP
public import LFSStorage

/// How a ``SignedURLStorage`` uploads and connects. The defaults suit most apps.
@dynamicMemberLookup
public struct SignedURLOptions: Sendable {
    /// How many parts of one file go out at once; at least 1.
    public var maxConcurrentParts = 4
    /// Whether the signatures of files that wait for their upload are asked for together, before their turn comes.
    public var signsAhead = true
    /// How it connects, to the signing server and to the store alike. Its settings can be named here as well:
    /// `options.uploadLimit`.
    public var connection = ConnectionOptions()

    /// What sends the requests, and ends with the storage; nil for the engine that this platform has.
    package var transport: (any HTTPTransport)?
    /// The clock by which signatures grow old and asks gather. It never jumps, whatever the device's date does.
    package var clock: any Clock<Duration> = ContinuousClock()

    /// The defaults.
    public init() {}

    /// A setting of the ``connection``.
    public subscript<Value>(dynamicMember setting: WritableKeyPath<ConnectionOptions, Value>) -> Value {
        get { connection[keyPath: setting] }
        set { connection[keyPath: setting] = newValue }
    }
}
