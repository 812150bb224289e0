/// Status and header fields of a reply.
package struct HTTPResponseHead: Sendable {
    package var status: Int
    package var headers: HTTPHeaders

    package init(status: Int, headers: HTTPHeaders = [:]) {
        self.status = status
        self.headers = headers
    }

    /// The length that the server announced, if it did.
    package var contentLength: Int64? {
        contentLengthField.flatMap { Int64($0) }
    }

    /// The text of that field as it came.
    package var contentLengthField: String? { headers["content-length"] }

    package var isSuccess: Bool { (200..<300).contains(status) }
}

/// A reply that has come in whole.
package struct HTTPResponse: Sendable {
    package var head: HTTPResponseHead
    /// The reply's bytes, as far as they did not go to a sink.
    package var body: [UInt8]
    /// Bytes of the request's body that were handed to the connection. Fewer than the body has means that the server
    /// answered before it had read everything, whatever its status says.
    package var bytesSent: Int64

    package init(head: HTTPResponseHead, body: [UInt8] = [], bytesSent: Int64 = 0) {
        self.head = head
        self.body = body
        self.bytesSent = bytesSent
    }

    package var status: Int { head.status }
    package var headers: HTTPHeaders { head.headers }
}
