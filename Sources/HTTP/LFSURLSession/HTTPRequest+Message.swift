import Foundation
import LFSHTTP

#if canImport(FoundationNetworking)
import FoundationNetworking
#endif

extension HTTPRequest {
    /// Returns the request in Foundation's form, without its body.
    ///
    /// - Throws: ``HTTPError/Code/invalidRequest`` for a path that Foundation would change, because the signature
    ///   covers the unmodified path.
    func message(_ options: HTTPOptions) throws(HTTPError) -> URLRequest {
        let text = origin.description + target
        let path = target.prefix { $0 != "?" }
        let hasDots = path.split(separator: "/").contains { $0 == "." || $0 == ".." }
        guard !hasDots, let url = URL(string: text), url.absoluteString == text else {
            throw HTTPError(
                .invalidRequest, message: "URLSession would change the path of this request on \(origin.host).")
        }
        var message = URLRequest(url: url)
        message.httpMethod = method.rawValue
        message.cachePolicy = .reloadIgnoringLocalCacheData
        message.httpShouldHandleCookies = false
        message.timeoutInterval = (stallTimeout ?? options.stallTimeout) / .seconds(1)
        message.setValue(options.userAgent, forHTTPHeaderField: "User-Agent")
        if !acceptsGzip { message.setValue("identity", forHTTPHeaderField: "Accept-Encoding") }
        for field in headers.fields { message.addValue(field.value, forHTTPHeaderField: field.name) }
        // The length of a stream is only known from this field. Without it, Foundation sends the body in chunks.
        if body.hasLength { message.setValue("\(body.byteCount)", forHTTPHeaderField: "Content-Length") }
        return message
    }
}

extension RequestBody {
    /// True if the request has a body, which may be empty.
    fileprivate var hasLength: Bool {
        if case .none = self { false } else { true }
    }
}

extension HTTPOptions {
    /// Refuses the options that `URLSession` cannot keep.
    ///
    /// - Throws: ``HTTPError/Code/invalidRequest``.
    func checkForURLSession() throws(HTTPError) {
        if clientCertificate != nil {
            throw Self.unsupported("use a client certificate")
        }
        if proxy != .none {
            throw Self.unsupported("use another proxy than the one of the system's settings")
        }
        if sendLimit != nil || receiveLimit != nil {
            throw Self.unsupported("limit the rate of uploads or downloads")
        }
        #if !canImport(Security)
        if certificateAuthorities != nil {
            throw Self.unsupported("trust other authorities than the system's on this platform")
        }
        #endif
    }

    private static func unsupported(_ action: String) -> HTTPError {
        HTTPError(
            .invalidRequest,
            message: "URLSession cannot \(action). Remove the option, or choose the engine libcurl, except on iOS.")
    }
}
