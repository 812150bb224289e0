/// Where the bytes of a reply go.
package enum ResponseBody: Sendable {
    /// Takes the next bytes of a reply, in order.
    ///
    /// One thread at a time calls it, and it may block. An error it throws ends the request and comes out of it
    /// unchanged.
    package typealias Sink = @Sendable (UnsafeRawBufferPointer) throws -> Void

    /// Into ``HTTPResponse/body``. A longer reply is an error.
    case bytes(limit: Int = 1 << 20)
    /// To the sink, if `accept` says so when it sees the reply's head; otherwise into ``HTTPResponse/body``, up to 1
    /// MiB. A sink that never blocks the thread may be called by the transport's own.
    case sink(Sink, mayBlock: Bool = true, accept: @Sendable (HTTPResponseHead) -> Bool)
}
