/// The destination of a reply's bytes.
package enum ResponseBody: Sendable {
    /// Receives the next bytes of a reply, in order.
    ///
    /// Only one thread at a time calls it, and it may block. An error that it throws ends the request and is rethrown
    /// unchanged.
    package typealias Sink = @Sendable (UnsafeRawBufferPointer) throws -> Void

    /// Collects the bytes in ``HTTPResponse/body``. A reply over the limit (default 1 MiB) is an error.
    case bytes(limit: Int = 1 << 20)
    /// Passes the bytes to the sink if `accept` returns true for the reply's head.
    ///
    /// Otherwise the bytes are collected in ``HTTPResponse/body``, up to 1 MiB. If `mayBlock` is false, the transport
    /// may call the sink on its own thread.
    case sink(Sink, mayBlock: Bool = true, accept: @Sendable (HTTPResponseHead) -> Bool)
}
