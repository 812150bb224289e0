/// The limits for one caller.
public struct SigningLimits: Hashable, Sendable {
    /// The maximum number of objects in one request, from 1 to 10,000.
    package var largestBatch = 100
    /// The maximum size of a request's body in bytes, at most 1 MiB.
    public var largestRequest = 1 << 20
    /// The maximum size of an object in bytes, or nil for the limit of the store.
    public var largestObject: Int64?
    /// The number of objects per second that a caller may request on average.
    package var objectsPerSecond = 1_000.0
    /// The number of objects that a caller may request at once after a pause.
    package var burst = 10_000
    /// The bytes that a caller may have open during ``expiry``. Open bytes were announced by actions that have not
    /// expired, or were read for the caller. If the server is the store, bytes sent in bodies count as well.
    package var openBytes: Int64 = 256 << 30
    /// The lifetime of an action, from 1 second to 7 days.
    public var expiry = Duration.seconds(900)
    /// The number of objects of one request that the server looks up in the store concurrently.
    public var concurrency = 8
    /// The number of objects that are read completely at the same time. The server reads an object to compare its bytes
    /// when the store reports no checksum. Bytes read for a caller count as open bytes.
    public var wholeReads = 4

    /// Creates the default limits.
    public init() {}
}
