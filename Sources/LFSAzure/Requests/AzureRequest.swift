import LFSHTTP
import LFSStorage

/// One request to the blob service before it is signed.
struct AzureRequest: Sendable {
    var method: HTTPRequest.Method
    /// The blob; nil for the container.
    var key: ObjectKey?
    /// Whether it is about the account's service as a whole.
    var isAboutService = false
    /// Of the service's interface; nil for the one that all requests ask for.
    var version: String?
    /// Not encoded.
    var query: [(name: String, value: String)] = []
    /// Names in lowercase, as they are signed.
    var headers: HTTPHeaders = [:]
    var body = RequestBody.none
    var reply = ResponseBody.bytes()
    var stallTimeout: Duration?
    var onProgress: (@Sendable (Int64) -> Void)?

    init(_ method: HTTPRequest.Method, _ key: ObjectKey? = nil, query: [(name: String, value: String)] = []) {
        self.method = method
        self.key = key
        self.query = query
    }
}
