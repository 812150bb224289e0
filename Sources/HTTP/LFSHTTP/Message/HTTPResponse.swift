/// The status and header fields of a reply.
package struct HTTPResponseHead: Sendable {
    package var status: Int
    package var headers: HTTPHeaders

    package init(status: Int, headers: HTTPHeaders = [:]) {
        self.status = status
        self.headers = headers
    }

    /// The length that the server announced, if any.
    package var contentLength: Int64? {
        contentLengthField.flatMap { Int64($0) }
    }

    /// The unparsed text of the `Content-Length` field.
    package var contentLengthField: String? { headers["content-length"] }

    package var isSuccess: Bool { (200..<300).contains(status) }
}

/// A complete reply.
package struct HTTPResponse: Sendable {
    package var head: HTTPResponseHead
    /// The bytes of the reply that were not passed to a sink.
    package var body: [UInt8]
    /// The number of bytes of the request's body that were handed to the connection.
    ///
    /// If it is less than the length of the body, the server answered before it had read the whole body. This holds for
    /// every status.
    package var bytesSent: Int64

    package init(head: HTTPResponseHead, body: [UInt8] = [], bytesSent: Int64 = 0) {
        self.head = head
        self.body = body
        self.bytesSent = bytesSent
    }

    package var status: Int { head.status }
    package var headers: HTTPHeaders { head.headers }
}
