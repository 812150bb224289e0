import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage

/// An error reply from the server or from a proxy.
struct WebDAVFailure: Error, CustomStringConvertible {
    let status: Int
    private let error: StorageError

    /// - Parameters:
    ///   - key: the object of the request, or nil for a folder.
    ///   - hasCondition: whether the request had a condition that could fail.
    init(_ response: HTTPResponse, key: ObjectKey?, hasCondition: Bool = true) {
        status = response.status
        let meaning = ErrorClassification(webDAVStatus: response.status, response)
            .checked(status: response.status, hasCondition: hasCondition)
        var message = "The server answered \(status)"
        let page = SanitizedErrorText.excerpt(response.body)
        message += page.isEmpty || response.head.isPage ? "." : ": '\(page)'."
        if let advice = meaning.advice { message += " \(advice)" }
        error = StorageError(
            meaning.code, message: message, key: key, retryAfter: RetryAfter.parse(response.headers, now: Date()))
    }

    /// True if the reply says that the resource does not exist. See ``WebDAVClient/describe(_:at:)`` on its
    /// reliability.
    var isMissing: Bool { status == 404 || status == 410 }

    /// The error in the terms of the storage contract. This value is its cause.
    var storageError: StorageError {
        var error = error
        error.cause = self
        return error
    }

    var description: String { error.message }
}

extension ErrorClassification {
    /// Derives the meaning of a status in WebDAV (RFC 4918, section 11) where it differs from plain HTTP.
    fileprivate init(webDAVStatus status: Int, _ response: HTTPResponse) {
        self =
            switch status {
            case 401 where response.headers["www-authenticate"]?.lowercased().hasPrefix("digest") == true:
                ErrorClassification(
                    .unauthorized,
                    advice: "It requires Digest, which LFS does not support: allow Basic over https, or a token.")
            case 401: ErrorClassification(.unauthorized, advice: "Check the user and password, or the token.")
            case 404, 410: ErrorClassification(.missing)
            case 405: ErrorClassification(.misconfigured, advice: "Does the server speak WebDAV at that URL?")
            // Another client holds a lock, or a folder of the path is missing.
            case 409, 423, 424: ErrorClassification(.serverError)
            case 502:
                ErrorClassification(
                    .serverError, advice: "Behind a proxy the server may treat its own address as a foreign one.")
            case 300..<400, 407, 451, 511: ErrorClassification(foreign: response)
            case 400 where ErrorClassification(foreign: response).code == .misconfigured:
                ErrorClassification(foreign: response)
            default: ErrorClassification(status: status, isAboutObject: true)
            }
    }
}
