import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage

/// An error reply from the store or from a proxy.
struct StoreFailure: Error, CustomStringConvertible {
    let status: Int
    private let error: StorageError

    /// - Parameter request: the request. The store may repeat its secrets in the reply, and the message must not show
    ///   them.
    init(_ response: HTTPResponse, to request: HTTPRequest, about key: ObjectKey?) {
        status = response.status
        let meaning = ErrorClassification(storeStatus: response.status, response)
            .checked(status: response.status, hasCondition: request.headers.hasCondition)
        // The message only shows a cleaned excerpt, because a store repeats the signature that it refuses.
        let text = response.head.isPage ? "" : SanitizedErrorText.excerpt(response.body, hiding: request.secrets)
        var message = "The store answered \(status)" + (text.isEmpty ? "." : ": '\(text)'.")
        if let advice = meaning.advice { message += " \(advice)" }
        error = StorageError(
            meaning.code, message: message, key: key, retryAfter: RetryAfter.parse(response.headers, now: Date()))
    }

    /// True if another signature may help. The refused one may have expired, or belong to the store's former settings.
    var mayBeSignature: Bool { [400, 401, 403].contains(status) }
    /// True if the key already has an object.
    var isConflict: Bool { status == 412 || status == 409 }
    var isMissing: Bool { status == 404 || status == 410 }

    /// The error in the terms of the storage contract. This value is its cause.
    var storageError: StorageError {
        var error = error
        error.cause = self
        return error
    }

    var description: String { error.message }
}

extension HTTPRequest {
    /// The values of the header fields and of the query. Short values are not secret, and hiding them would garble
    /// messages.
    fileprivate var secrets: [String] {
        let query = target.split(separator: "?", maxSplits: 1).dropFirst().first?.split(separator: "&") ?? []
        let values = query.compactMap { $0.split(separator: "=", maxSplits: 1).dropFirst().first.map(String.init) }
        return (headers.fields.map(\.value) + values + values.compactMap(\.removingPercentEncoding))
            .filter { $0.utf8.count >= 8 }
    }
}

extension ErrorClassification {
    /// Derives the meaning of a store's status, after the signing server has signed the request twice.
    fileprivate init(storeStatus status: Int, _ response: HTTPResponse) {
        let signature = "Two signatures were refused: check the clock of the signing server and its credentials."
        self =
            switch status {
            case _ where response.head.isPage: ErrorClassification(foreign: response)
            case 300..<400, 407, 451, 511: ErrorClassification(foreign: response)
            // Stores answer 400 for corrupted bytes, for expired credentials, and for many other problems that a retry
            // avoids.
            case 400: ErrorClassification(.serverError, advice: signature)
            case 401, 403: ErrorClassification(.forbidden, advice: signature)
            case 404, 410:
                ErrorClassification(.misconfigured, advice: "The place that the signing server names does not exist.")
            case 429, 503: ErrorClassification(.throttled)
            default: ErrorClassification(status: status, isAboutObject: true)
            }
    }
}
