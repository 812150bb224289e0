package import LFSHTTP
package import LFSStorage

/// What a refusal means to this package, and what can be done about it.
///
/// A storage adds the meanings of its own server's words.
package struct FailureMeaning: Hashable, Sendable {
    package let code: StorageError.Code
    /// A sentence for the person who has to mend it; nil where there is nothing to say.
    package let advice: String?

    package init(_ code: StorageError.Code, _ advice: String? = nil) {
        self.code = code
        self.advice = advice
    }

    /// What a status says when there is nothing else to go by (RFC 9110, 15).
    ///
    /// - Parameter isAboutObject: whether the request named a key, so that 404 speaks of the object.
    package init(status: Int, isAboutObject: Bool) {
        self =
            switch status {
            case 401: FailureMeaning(.unauthorized)
            case 403: FailureMeaning(.forbidden)
            case 404: FailureMeaning(isAboutObject ? .missing : .misconfigured)
            case 407: FailureMeaning(.misconfigured, HTTPError.proxyAdvice)
            case 408, 504: FailureMeaning(.timeout)
            case 409, 425: FailureMeaning(.serverError)
            case 412: FailureMeaning(.changed)
            case 413: FailureMeaning(.tooLarge)
            case 429: FailureMeaning(.throttled)
            case 507: FailureMeaning(.noSpace)
            case 300..<400: FailureMeaning(.invalidRequest, "Use the endpoint that it redirects to, if you trust it.")
            case 501, 505: FailureMeaning(.invalidRequest, "The server does not know this request.")
            case 400..<500: FailureMeaning(.invalidRequest)
            default: FailureMeaning(.serverError)
            }
    }

    /// What something else says that stands where the storage's server should be: a proxy, a sign-in page, a server of
    /// another kind.
    ///
    /// It is about the storage as a whole, unless the status can only be about this request.
    package init(foreign response: HTTPResponse) {
        let advice = "Look what stands between here and the endpoint: a proxy, or the sign-in page of a network."
        self =
            switch response.status {
            case 400 where Self.wantsTLS(response.body):
                FailureMeaning(.misconfigured, "The port expects encryption: write https in the endpoint.")
            case 407: FailureMeaning(.misconfigured, HTTPError.proxyAdvice)
            case 300..<400, 403, 404, 405, 451, 511: FailureMeaning(.unreachable, advice)
            case 401, 408, 409, 412, 413, 425, 429, 500, 502..<505, 506...:
                FailureMeaning(status: response.status, isAboutObject: false)
            default: FailureMeaning(.serverError, advice)
            }
    }

    /// Whether a server says that plain HTTP has come to a port for TLS: nginx, Apache and Go's have such a page.
    private static func wantsTLS(_ body: [UInt8]) -> Bool {
        let text = String(decoding: body.prefix(2_000), as: UTF8.self)
        return [
            "plain HTTP request was sent to HTTPS port", "speaking plain HTTP to an SSL-enabled server port",
            "HTTP request to an HTTPS server",
        ].contains { text.contains($0) }
    }
}
