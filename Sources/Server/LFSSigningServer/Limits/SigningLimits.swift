/// The limits of a signing server for each request and each caller. ``wholeReads`` is the limit for all callers.
public struct SigningLimits: Hashable, Sendable {
    /// The maximum number of objects in one request, from 1 to 10,000.
    package var largestBatch = 100
    /// The maximum size of a request's body in bytes. The default is 1 MiB, which is also the largest value.
    public var largestRequest = 1 << 20
    /// The maximum size of an object in bytes, or nil for the limit of the store. The default is nil.
    public var largestObject: Int64?
    /// The number of objects per second that a caller may request on average.
    package var objectsPerSecond = 1_000.0
    /// The number of objects that a caller may request at once after a pause.
    package var burst = 10_000
    /// The bytes that a caller may have open during ``expiry``. Open bytes were announced by actions that have not
    /// expired, or were read for the caller. If the server is the store, bytes sent in bodies count as well.
    package var openBytes: Int64 = 256 << 30
    /// The lifetime of an action, from 1 second to 7 days. The default is 15 minutes.
    public var expiry = Duration.seconds(900)
    /// The maximum number of objects of one request that the server looks up in the store concurrently. The default is
    /// 8.
    public var concurrency = 8
    /// The maximum number of objects that the server reads completely at the same time, for all callers together. It
    /// reads an object to compare its bytes when the store reports no checksum. Bytes read for a caller count as open
    /// bytes. The default is 4.
    public var wholeReads = 4

    /// Creates the default limits.
    public init() {}
}
