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
    /// The open bytes for which a new namespace and a begun upload in parts count, because they leave something in the
    /// store before any byte is sent. The default is 16 MiB.
    ///
    /// With the default limits, a caller may claim 16,384 namespaces in 15 minutes. A database has one namespace, so
    /// thousands of small files cost 16 MiB together. A file in parts has at least 32 MiB by default and counts as 48
    /// MiB. So a caller may upload 5,461 such files in 15 minutes, which are 170 GiB, or 194 MiB per second.
    package var creationBytes: Int64 = 16 << 20
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
