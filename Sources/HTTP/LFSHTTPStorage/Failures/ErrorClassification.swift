package import LFSHTTP
package import LFSStorage

/// The meaning of an error reply for this package, and advice for the user.
///
/// Each storage adds the error codes of its own server.
package struct ErrorClassification: Hashable, Sendable {
    package let code: StorageError.Code
    /// A sentence that says how to fix the problem, or nil without one.
    package let advice: String?

    package init(_ code: StorageError.Code, advice: String? = nil) {
        self.code = code
        self.advice = advice
    }

    /// Derives the meaning from the status alone (RFC 9110, section 15).
    ///
    /// - Parameter isAboutObject: true if the request named a key, so that 404 means a missing object.
    package init(status: Int, isAboutObject: Bool) {
        self =
            switch status {
            case 401: ErrorClassification(.unauthorized)
            // Payment is a matter of the account, not of one object.
            case 402: ErrorClassification(.misconfigured, advice: "Check the bill of the storage's account.")
            case 403: ErrorClassification(.forbidden)
            case 404: ErrorClassification(isAboutObject ? .missing : .misconfigured)
            case 407: ErrorClassification(.misconfigured, advice: HTTPError.proxyAdvice)
            case 408, 504: ErrorClassification(.timeout)
            case 409, 425: ErrorClassification(.serverError)
            case 412: ErrorClassification(.changed)
            case 413: ErrorClassification(.tooLarge)
            case 429: ErrorClassification(.throttled)
            case 507: ErrorClassification(.noSpace)
            case 300..<400:
                ErrorClassification(.invalidRequest, advice: "Use the endpoint that it redirects to, if you trust it.")
            case 501, 505: ErrorClassification(.invalidRequest, advice: "The server does not support this request.")
            case 400..<500: ErrorClassification(.invalidRequest)
            default: ErrorClassification(.serverError)
            }
    }

    /// Derives the meaning of a reply that does not come from the storage's server but from a proxy, a sign-in page or
    /// another kind of server.
    ///
    /// The error concerns the storage as a whole, unless the status can only concern this request.
    package init(foreign response: HTTPResponse) {
        let advice = "Check for a proxy or a sign-in page of a network between this device and the endpoint."
        self =
            switch response.status {
            case 400 where Self.wantsTLS(response.body):
                ErrorClassification(.misconfigured, advice: "The port expects encryption: write https in the endpoint.")
            case 400 where Self.certificateAdvice(response.body) != nil:
                ErrorClassification(.misconfigured, advice: Self.certificateAdvice(response.body))
            case 407: ErrorClassification(.misconfigured, advice: HTTPError.proxyAdvice)
            case 300..<400, 403, 404, 405, 451, 511: ErrorClassification(.unreachable, advice: advice)
            // Without a page the reply may come from the server: some answer a failed condition with no body.
            case 412 where response.head.isPage: ErrorClassification(.serverError, advice: advice)
            case 401, 408, 409, 412, 413, 425, 429, 500, 502..<505, 506...:
                ErrorClassification(status: response.status, isAboutObject: false)
            default: ErrorClassification(.serverError, advice: advice)
            }
    }

    /// Returns this meaning, or that of a faulty server if the reply is a 412 to a request without a condition
    /// (RFC 9110, section 15.5.13). Such a reply says nothing about the object.
    package func checked(status: Int, hasCondition: Bool) -> ErrorClassification {
        guard status == 412, code == .changed, !hasCondition else { return self }
        return ErrorClassification(.serverError, advice: "The request had no condition that could fail.")
    }

    /// Returns the advice for a page of nginx that refuses the client's certificate, or nil for another page. nginx
    /// sends it with the status 400 after the handshake (its own statuses 495 and 496).
    package static func certificateAdvice(_ body: [UInt8]) -> String? {
        let text = String(decoding: body.prefix(2_000), as: UTF8.self)
        if text.contains("No required SSL certificate was sent") { return HTTPError.certificateAdvice(isSet: false) }
        if text.contains("The SSL certificate error") { return HTTPError.certificateAdvice(isSet: true) }
        return nil
    }

    /// Returns true if the page says that plain HTTP arrived at a TLS port. nginx, Apache and Go have such pages.
    private static func wantsTLS(_ body: [UInt8]) -> Bool {
        let text = String(decoding: body.prefix(2_000), as: UTF8.self)
        return [
            "plain HTTP request was sent to HTTPS port", "speaking plain HTTP to an SSL-enabled server port",
            "HTTP request to an HTTPS server",
        ].contains { text.contains($0) }
    }
}
