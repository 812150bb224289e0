import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage

/// A request that was refused: by the server, or by something before it.
struct WebDAVFailure: Error, CustomStringConvertible {
    let status: Int
    private let error: StorageError

    /// - Parameter key: the object that the request was about; nil for a folder.
    init(_ response: HTTPResponse, key: ObjectKey?) {
        status = response.status
        let meaning = FailureMeaning(webDAVStatus: response.status, response)
        var message = "The server answered \(status)"
        let page = ServerText.excerpt(response.body)
        message += page.isEmpty || response.head.isPage ? "." : ": '\(page)'."
        if let advice = meaning.advice { message += " \(advice)" }
        error = StorageError(
            meaning.code, message, key: key, retryAfter: RetryAfter.parse(response.headers, now: Date()))
    }

    /// Whether nothing is said to be there. See ``WebDAVClient/describe(_:at:)`` for what that is worth.
    var isMissing: Bool { status == 404 || status == 410 }

    /// In the terms of the contract, with this as its cause.
    var storageError: StorageError {
        var error = error
        error.cause = self
        return error
    }

    var description: String { error.message }
}

extension FailureMeaning {
    /// What a status says in WebDAV (RFC 4918, 11) where it is more or other than in HTTP.
    fileprivate init(webDAVStatus status: Int, _ response: HTTPResponse) {
        self =
            switch status {
            case 401 where response.headers["www-authenticate"]?.lowercased().hasPrefix("digest") == true:
                FailureMeaning(
                    .unauthorized, "It wants Digest, which is not spoken here: allow Basic over https, or a token.")
            case 401: FailureMeaning(.unauthorized, "Look at user and password, or the token.")
            case 404, 410: FailureMeaning(.missing)
            case 405: FailureMeaning(.misconfigured, "Does the server speak WebDAV at that URL?")
            // Somebody holds a lock, or a folder on the way is missing.
            case 409, 423, 424: FailureMeaning(.serverError)
            case 502:
                FailureMeaning(.serverError, "Behind a proxy the server may take its own address for a foreign one.")
            case 300..<400, 407, 451, 511: FailureMeaning(foreign: response)
            case 400 where FailureMeaning(foreign: response).code == .misconfigured: FailureMeaning(foreign: response)
            default: FailureMeaning(status: status, isAboutObject: true)
            }
    }
}
