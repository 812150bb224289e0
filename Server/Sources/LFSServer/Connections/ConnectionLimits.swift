public import NIOCore

/// The limits of connections: the number per address and account, and the times for clients that send or read slowly.
public struct ConnectionLimits: Hashable, Sendable {
    /// The maximum number of connections of an address that have not authenticated. The default is 64.
    ///
    /// The addresses of an IPv6 /64 count as one address. nil means no limit, which is right behind a proxy, because
    /// all connections then come from its address.
    public var connectionsPerAddress: Int? = 64
    /// The maximum number of connections whose last authenticated request was of the same account. The default is 256.
    public var connectionsPerAccount = 256
    /// The maximum number of bytes of a body that are read and discarded after the reply. The default is 256 KiB.
    ///
    /// A client that is still sending can then receive the reply.
    public var unreadByteCount = 256 << 10
    /// The maximum time for which the server reads such bytes. The default is 5 seconds.
    public var unreadTime = TimeAmount.seconds(5)
    /// The minimum rate of a request's body, and of a reply while the server waits for the client. The default is 1 KiB
    /// per second.
    public var bytesPerSecond = 1_024
    /// The time over which the rate is averaged. The default is 30 seconds.
    ///
    /// A connection that transfers nothing is closed after at most twice this time.
    public var rateWindow = TimeAmount.seconds(30)

    /// Creates the default limits.
    public init() {}
}
