/// The reason why a request got no reply. A reply with an error status is not an `HTTPError`.
package struct HTTPError: Error, Sendable, CustomStringConvertible {
    package enum Code: String, Sendable {
        /// The request violates HTTP or the engine's options.
        case invalidRequest
        /// The host does not exist, does not accept connections, or the network is unavailable.
        case unreachable
        /// The certificate of the server or of the client was rejected.
        case untrusted
        /// The server speaks another protocol or version, or the proxy requires a password.
        ///
        /// Examples: `https` to a port that only speaks `http`, `http` to a port that expects `https`, a TLS version
        /// older than 1.2.
        case wrongProtocol
        /// The connection was closed before the reply was complete.
        case connectionLost
        /// The server was too slow.
        case timeout
        /// The reply violates HTTP, or is larger than allowed.
        case invalidReply
        /// The body of the request cannot be read.
        case bodyUnreadable
        /// The task was cancelled.
        case cancelled
        /// The engine has been shut down.
        case closed
    }

    package let code: Code
    /// A sentence for the user that says how to fix the problem. It names the host and the path, never the query.
    package let message: String
    /// The error that a sink or a request body threw.
    package let cause: (any Error)?

    package init(_ code: Code, message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    package var description: String { message }

    /// Returns the error for an engine that got no thread. The server is not at fault, so the request is retried later.
    package static func noThread(_ cause: any Error) -> HTTPError {
        HTTPError(
            .unreachable,
            message: """
                No thread could be created for the connections (\(cause)). Raise the limit on processes of this user \
                (ulimit -u) or of its container.
                """,
            cause: cause)
    }

    /// The advice for a proxy that requires a password (407, RFC 9110, section 15.5.8).
    package static let proxyAdvice = """
        The proxy asks for a name and a password: write them into http_proxy and https_proxy, as in \
        http://name:password@host:port.
        """

    /// Returns the advice for a server that requires a client certificate.
    ///
    /// - Parameter isSet: true if the client has one, which the server does not accept.
    package static func certificateAdvice(isSet: Bool) -> String {
        isSet
            ? """
            The server asks for a client certificate, and does not accept the one that is set. It may have expired, or \
            come from an authority that the server does not trust.
            """
            : "The server requires a client certificate, and none is set. Ask the server's owner for one."
    }

    package static let closed = HTTPError(.closed, message: "The connection pool has been shut down.")
}
