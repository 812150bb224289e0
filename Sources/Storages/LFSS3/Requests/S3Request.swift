import LFSHTTP
import LFSStorage

/// An unsigned request to S3.
struct S3Request: Sendable {
    var method: HTTPRequest.Method
    /// The object, or nil for the bucket.
    var key: ObjectKey?
    /// The query parameters, not encoded.
    var query: [(name: String, value: String)] = []
    var headers: HTTPHeaders = [:]
    var body = RequestBody.none
    /// The SHA-256 of the body in lowercase hex, or ``SignatureV4/unsignedPayload`` over TLS.
    var payloadHash = SignatureV4.emptyPayload
    var reply = ResponseBody.bytes()
    var stallTimeout: Duration?
    var onProgress: (@Sendable (Int64) -> Void)?

    init(_ method: HTTPRequest.Method, key: ObjectKey? = nil, query: [(name: String, value: String)] = []) {
        self.method = method
        self.key = key
        self.query = query
    }
}
