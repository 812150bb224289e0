/// Why there is no reply. A reply with an error status is no error here.
package struct HTTPError: Error, Sendable, CustomStringConvertible {
    package enum Code: String, Sendable {
        /// The request breaks a rule of HTTP or of the engine's options.
        case invalidRequest
        /// No such host, nobody listens, no network.
        case unreachable
        /// The server's certificate, or ours, was not accepted.
        case untrusted
        /// The server speaks another protocol, or another version of it: it was asked by https where only http is
        /// spoken, or the other way round, or its TLS is older than 1.2. Or the proxy wants a password.
        case wrongProtocol
        /// The connection broke before the reply was whole.
        case connectionLost
        /// The server was too slow.
        case timeout
        /// The reply breaks HTTP, or is larger than allowed.
        case invalidReply
        /// The body of the request cannot be read.
        case bodyUnreadable
        /// The task was cancelled.
        case cancelled
        /// The engine has been shut down.
        case closed
    }

    package let code: Code
    /// A sentence for the person who has to mend it, with host and path but no query.
    package let message: String
    /// What a sink or a body threw.
    package let cause: (any Error)?

    package init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }

    package var description: String { message }

    /// The engine has no thread, which is no fault of the server: the request is sent again later.
    package static func noThread(_ cause: any Error) -> HTTPError {
        HTTPError(
            .unreachable,
            """
            No thread could be made for the connections (\(cause)). Raise the limit on processes of this user \
            (ulimit -u) or of its container.
            """,
            cause: cause)
    }

    /// What to do about a proxy that asks for a password (407, RFC 9110, section 15.5.8).
    package static let proxyAdvice = """
        The proxy asks for a name and a password: write them into http_proxy and https_proxy, as in \
        http://name:password@host:port.
        """

    package static let closed = HTTPError(.closed, "The connection pool has been shut down.")
}
