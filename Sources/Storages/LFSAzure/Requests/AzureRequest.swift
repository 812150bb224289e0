import LFSHTTP
import LFSStorage

/// An unsigned request to the blob service.
struct AzureRequest: Sendable {
    var method: HTTPRequest.Method
    /// The blob, or nil for the container.
    var key: ObjectKey?
    /// True if the request concerns the account's blob service as a whole.
    var isAboutService = false
    /// The version of the service's API. nil uses the version of the options.
    var version: String?
    /// The query parameters, not encoded.
    var query: [(name: String, value: String)] = []
    /// The header fields. Their names are lowercase, as the signature needs them.
    var headers: HTTPHeaders = [:]
    var body = RequestBody.none
    var reply = ResponseBody.bytes()
    var stallTimeout: Duration?
    var onProgress: (@Sendable (Int64) -> Void)?

    init(_ method: HTTPRequest.Method, key: ObjectKey? = nil, query: [(name: String, value: String)] = []) {
        self.method = method
        self.key = key
        self.query = query
    }
}
