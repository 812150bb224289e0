import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSWire

/// Reads complete replies of the signing server.
enum WholeReply {
    /// Returns the message of a 200.
    ///
    /// - Parameter token: the token of the request, which a careless server may repeat.
    /// - Throws: ``StorageError``. It concerns the storage as a whole, unless the server says otherwise.
    static func read<Message: Decodable>(
        _ type: Message.Type, from response: HTTPResponse, hiding token: String
    ) throws(StorageError) -> Message {
        guard response.status == 200 else { throw refusal(response, hiding: token) }
        if response.head.isPage { throw foreign(response) }
        do throws(WireFailure) {
            return try WireFormat.decode(type, from: Data(response.body), limits: .reply)
        } catch {
            throw unreadable(error)
        }
    }

    /// Returns the error for a message, or a part of one, that violates the protocol.
    static func unreadable(_ failure: WireFailure) -> StorageError {
        StorageError(
            .serverError, message: "The signing server's reply does not follow the protocol: \(failure.message)")
    }

    /// Returns the error for a refusal of the whole request.
    private static func refusal(_ response: HTTPResponse, hiding token: String) -> StorageError {
        let failure: WireFailure
        do throws(WireFailure) {
            failure = try WireFormat.decode(SigningRefusal.self, from: Data(response.body), limits: .reply).error
        } catch {
            return foreign(response)
        }
        let code: StorageError.Code =
            switch response.status {
            case 401: .unauthorized
            case 403: .forbidden
            case 413, 400, 404, 405: .misconfigured
            case 429: .throttled
            case 503: .unreachable
            default: .serverError
            }
        let text = SanitizedErrorText.explanation(failure.message, hiding: [token])
        return StorageError(
            code, message: "The signing server answered \(response.status)" + (text.isEmpty ? "." : ": \(text)"),
            retryAfter: RetryAfter.parse(response.headers, now: Date())
                ?? failure.retryAfter.map { min(.seconds($0), RetryAfter.limit) })
    }

    /// Returns the error for a reply that does not follow the protocol. It comes from a proxy or from another kind of
    /// server.
    private static func foreign(_ response: HTTPResponse) -> StorageError {
        let meaning =
            switch response.status {
            case 200..<300:
                ErrorClassification(
                    .unreachable, advice: "Check for a proxy or a sign-in page of a network in front of it.")
            case 401: ErrorClassification(.unauthorized, advice: "Check the token.")
            case 404, 405: ErrorClassification(.misconfigured, advice: "Is the signing server at that URL?")
            default: ErrorClassification(foreign: response)
            }
        var message = "The signing server answered \(response.status), which does not follow the protocol."
        if let advice = meaning.advice { message += " \(advice)" }
        return StorageError(
            meaning.code, message: message, retryAfter: RetryAfter.parse(response.headers, now: Date()))
    }
}
