/// What a server takes of one caller.
public struct SigningLimits: Hashable, Sendable {
    /// Objects in one request: 1 to 10,000.
    public var largestBatch = 100
    /// Bytes of one request's body, at most 1 MiB.
    public var largestRequest = 1 << 20
    /// Bytes of the largest object; nil for what the store takes.
    public var largestObject: Int64?
    /// Objects a second that a caller may ask for in the long run.
    public var objectsPerSecond = 1_000.0
    /// Objects that it may ask for at once after a pause.
    public var burst = 10_000
    /// Bytes that a caller may have open in the time of ``expiry``: announced by actions that have not expired, read
    /// for it, or sent in bodies where the server is the store.
    public var openBytes: Int64 = 256 << 30
    /// How long an action is valid: 1 second to 7 days.
    public var expiry = Duration.seconds(900)
    /// Objects of one request that the store is asked about at the same time.
    public var concurrency = 8
    /// Objects that are read as a whole at the same time, to compare what no store tells of their bytes. What is read
    /// for a caller counts as its open bytes.
    public var wholeReads = 4

    /// The defaults.
    public init() {}
}
