import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSWire

/// A reply of the signing server as a whole.
enum WholeReply {
    /// The message of a 200.
    ///
    /// - Parameter token: what the request had, which a careless server may repeat.
    /// - Throws: ``StorageError``: about the storage, unless the server says otherwise.
    static func read<Message: Decodable>(
        _ type: Message.Type, from response: HTTPResponse, hiding token: String
    ) throws(StorageError) -> Message {
        guard response.status == 200 else { throw refusal(response, hiding: token) }
        if response.head.isPage { throw foreign(response) }
        do throws(WireFailure) {
            return try WireFormat.decode(type, from: Data(response.body), .reply)
        } catch {
            throw unreadable(error)
        }
    }

    /// For a message that breaks the protocol, or a part of one.
    static func unreadable(_ failure: WireFailure) -> StorageError {
        StorageError(.serverError, "The signing server's reply is not what the protocol says: \(failure.message)")
    }

    /// What a refusal of the whole request means.
    private static func refusal(_ response: HTTPResponse, hiding token: String) -> StorageError {
        let failure: WireFailure
        do throws(WireFailure) {
            failure = try WireFormat.decode(SigningRefusal.self, from: Data(response.body), .reply).error
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
        let text = ServerText.explanation(failure.message, hiding: [token])
        return StorageError(
            code, "The signing server answered \(response.status)" + (text.isEmpty ? "." : ": \(text)"),
            retryAfter: RetryAfter.parse(response.headers, now: Date())
                ?? failure.retryAfter.map { min(.seconds($0), RetryAfter.limit) })
    }

    /// What does not speak the protocol stands before the server, or is another one.
    private static func foreign(_ response: HTTPResponse) -> StorageError {
        let meaning =
            switch response.status {
            case 200..<300:
                FailureMeaning(
                    .unreachable, "Look what stands before it: a proxy, or the sign-in page of a network.")
            case 401: FailureMeaning(.unauthorized, "Look at the token.")
            case 404, 405: FailureMeaning(.misconfigured, "Is the signing server at that URL?")
            default: FailureMeaning(foreign: response)
            }
        var message = "The signing server answered \(response.status), and not as the protocol says."
        if let advice = meaning.advice { message += " \(advice)" }
        return StorageError(
            meaning.code, message, retryAfter: RetryAfter.parse(response.headers, now: Date()))
    }
}
