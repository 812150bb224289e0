import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage

/// A request that the store refused, or something before it.
struct StoreFailure: Error, CustomStringConvertible {
    let status: Int
    private let error: StorageError

    /// - Parameter request: which the store may repeat in its answer: all that makes it valid is a secret.
    init(_ response: HTTPResponse, to request: HTTPRequest, about key: ObjectKey?) {
        status = response.status
        let meaning = FailureMeaning(storeStatus: response.status, response)
        // No word of it but the beginning: a store repeats the signature that it refuses.
        let text = response.head.isPage ? "" : ServerText.excerpt(response.body, hiding: request.secrets)
        var message = "The store answered \(status)" + (text.isEmpty ? "." : ": '\(text)'.")
        if let advice = meaning.advice { message += " \(advice)" }
        error = StorageError(
            meaning.code, message, key: key, retryAfter: RetryAfter.parse(response.headers, now: Date()))
    }

    /// Whether another signature may be taken: this one may have expired, or be for what the store was before.
    var mayBeSignature: Bool { [400, 401, 403].contains(status) }
    /// Whether something is in the way of a new object.
    var isConflict: Bool { status == 412 || status == 409 }
    var isMissing: Bool { status == 404 || status == 410 }

    /// In the terms of the contract, with this as its cause.
    var storageError: StorageError {
        var error = error
        error.cause = self
        return error
    }

    var description: String { error.message }
}

extension HTTPRequest {
    /// The values of its header fields and of its query. Short ones are no secret, and would hide other words.
    fileprivate var secrets: [String] {
        let query = target.split(separator: "?", maxSplits: 1).dropFirst().first?.split(separator: "&") ?? []
        let values = query.compactMap { $0.split(separator: "=", maxSplits: 1).dropFirst().first.map(String.init) }
        return (headers.fields.map(\.value) + values + values.compactMap(\.removingPercentEncoding))
            .filter { $0.utf8.count >= 8 }
    }
}

extension FailureMeaning {
    /// What a store's status says, whatever its kind, after the signing server has signed the request twice.
    fileprivate init(storeStatus status: Int, _ response: HTTPResponse) {
        let signature = "Two signatures were refused: look at the clock of the signing server and at its credentials."
        self =
            switch status {
            case _ where response.head.isPage: FailureMeaning(foreign: response)
            case 300..<400, 407, 451, 511: FailureMeaning(foreign: response)
            // A store says it of bytes that were spoiled on their way, of credentials that have ended, and of much
            // else that another try does not meet.
            case 400: FailureMeaning(.serverError, signature)
            case 401, 403: FailureMeaning(.forbidden, signature)
            case 404, 410: FailureMeaning(.misconfigured, "The place that the signing server names is not there.")
            case 429, 503: FailureMeaning(.throttled)
            default: FailureMeaning(status: status, isAboutObject: true)
            }
    }
}
