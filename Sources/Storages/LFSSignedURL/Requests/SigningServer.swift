import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSWire

/// A connection to the signing server that sends one message and returns one reply.
struct SigningServer: Sendable {
    let base: Endpoint
    let transport: any HTTPTransport
    let tokens: Tokens

    func description() async throws(StorageError) -> SigningDescription {
        let (response, token) = try await send(.get, .none)
        return try WholeReply.read(SigningDescription.self, from: response, hiding: token.text)
    }

    /// Returns the outcome of each object, in order.
    ///
    /// - Parameter largest: the maximum number of objects in one request to this server.
    func answers(
        _ operation: SigningOperation, objects: [SigningObject], upTo largest: Int64
    ) async -> [Result<SigningAnswer, StorageError>] {
        let size = Int(clamping: max(largest, 1))
        guard objects.count > size else { return await answers(operation, objects: objects) }
        var outcomes: [Result<SigningAnswer, StorageError>] = []
        for start in stride(from: 0, to: objects.count, by: size) {
            outcomes += await answers(operation, objects: Array(objects[start..<min(start + size, objects.count)]))
        }
        return outcomes
    }

    private func answers(
        _ operation: SigningOperation, objects: [SigningObject]
    ) async -> [Result<SigningAnswer, StorageError>] {
        do throws(StorageError) {
            return try await reply(operation, objects: objects)
        } catch {
            return objects.map { _ in .failure(error) }
        }
    }

    private func reply(
        _ operation: SigningOperation, objects: [SigningObject]
    ) async throws(StorageError) -> [Result<SigningAnswer, StorageError>] {
        let body: Data
        do {
            body = try WireFormat.encode(SigningRequest(operation, objects: objects))
        } catch {
            throw StorageError(wrapping: error)
        }
        let (response, token) = try await send(.post, .bytes(Array(body)), patience: operation.patience)
        let reply = try WholeReply.read(SigningReplyBody.self, from: response, hiding: token.text)
        guard reply.objects.count == objects.count else {
            throw StorageError(
                .serverError,
                message: "The signing server returned \(reply.objects.count) answers for \(objects.count) objects.")
        }
        // An invalid answer does not affect the others, because answers have the order of the objects.
        return reply.objects.map { answer in
            Result { () throws(StorageError) in try Self.checked(answer, hiding: token.text) }
        }
    }

    private static func checked(
        _ answer: Checked<SigningAnswer>, hiding token: String
    ) throws(StorageError) -> SigningAnswer {
        switch answer {
        case .valid(let answer):
            guard var error = answer.error else { return answer }
            error.message = SanitizedErrorText.explanation(error.message, hiding: [token])
            return .refused(error)
        case .refused(let failure): throw WholeReply.unreadable(failure)
        }
    }

    /// Sends a request. If the token is refused, it sends the request once more with a new token.
    ///
    /// - Returns: the reply, and the token of its request.
    private func send(
        _ method: HTTPRequest.Method, _ body: RequestBody, patience: Duration? = nil
    ) async throws(StorageError) -> (HTTPResponse, BearerToken) {
        do {
            let issued = try await tokens.current()
            let response = try await sendOnce(method, body, token: issued.credentials, patience: patience)
            guard response.status == 401 else { return (response, issued.credentials) }
            tokens.refuse(issued)
            let newer = try await tokens.current()
            // The same token would be refused again.
            guard newer.credentials != issued.credentials else { return (response, newer.credentials) }
            let second = try await sendOnce(method, body, token: newer.credentials, patience: patience)
            if second.status == 401 { tokens.refuse(newer) }
            return (second, newer.credentials)
        } catch let error as HTTPError {
            throw StorageError(error)
        } catch {
            throw StorageError(wrapping: error)
        }
    }

    private func sendOnce(
        _ method: HTTPRequest.Method, _ body: RequestBody, token: BearerToken, patience: Duration?
    ) async throws -> HTTPResponse {
        var request = HTTPRequest(method, origin: base.origin, target: base.path.isEmpty ? "/" : base.path, body: body)
        try request.headers.set("authorization", value: token.field)
        try request.headers.set("accept", value: "application/json")
        if method == .post { try request.headers.set("content-type", value: "application/json") }
        request.reply = .bytes(limit: 4 << 20)
        request.stallTimeout = patience
        return try await transport.send(request)
    }
}

extension SigningOperation {
    /// The timeout for the reply, or nil for the default. The server may have to read or assemble a whole object. It
    /// stops after 300 seconds.
    fileprivate var patience: Duration? {
        switch self {
        case .upload, .complete, .confirm: .seconds(330)
        default: nil
        }
    }
}
