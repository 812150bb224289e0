import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSWire

/// Speaks to the signing server: one message, one reply.
struct SigningServer: Sendable {
    let base: Endpoint
    let transport: any HTTPTransport
    let tokens: Tokens

    func description() async throws(StorageError) -> SigningDescription {
        let (response, token) = try await send(.get, .none)
        return try WholeReply.read(SigningDescription.self, from: response, hiding: token.text)
    }

    /// The outcome of each object, in order.
    ///
    /// - Parameter largest: how many objects the server takes in one request.
    func answers(
        _ operation: SigningOperation, _ objects: [SigningObject], upTo largest: Int64
    ) async -> [Result<SigningAnswer, StorageError>] {
        let size = Int(clamping: max(largest, 1))
        guard objects.count > size else { return await answers(operation, objects) }
        var outcomes: [Result<SigningAnswer, StorageError>] = []
        for start in stride(from: 0, to: objects.count, by: size) {
            outcomes += await answers(operation, Array(objects[start..<min(start + size, objects.count)]))
        }
        return outcomes
    }

    private func answers(
        _ operation: SigningOperation, _ objects: [SigningObject]
    ) async -> [Result<SigningAnswer, StorageError>] {
        do throws(StorageError) {
            return try await reply(operation, objects)
        } catch {
            return objects.map { _ in .failure(error) }
        }
    }

    private func reply(
        _ operation: SigningOperation, _ objects: [SigningObject]
    ) async throws(StorageError) -> [Result<SigningAnswer, StorageError>] {
        let body: Data
        do {
            body = try WireFormat.encode(SigningRequest(operation, objects))
        } catch {
            throw StorageError(wrapping: error)
        }
        let (response, token) = try await send(.post, .bytes(Array(body)), operation.patience)
        let reply = try WholeReply.read(SigningReplyBody.self, from: response, hiding: token.text)
        guard reply.objects.count == objects.count else {
            throw StorageError(
                .serverError,
                "The signing server gave \(reply.objects.count) answers for \(objects.count) objects.")
        }
        // One that is wrong spoils none of the others: they stand in the order of the objects.
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
            error.message = ServerText.explanation(error.message, hiding: [token])
            return .refused(error)
        case .refused(let failure): throw WholeReply.unreadable(failure)
        }
    }

    /// A token that is refused is replaced once.
    ///
    /// - Returns: the reply, and the token that it is one to.
    private func send(
        _ method: HTTPRequest.Method, _ body: RequestBody, _ patience: Duration? = nil
    ) async throws(StorageError) -> (HTTPResponse, BearerToken) {
        do {
            let issued = try await tokens.current()
            let response = try await sendOnce(method, body, issued.credentials, patience)
            guard response.status == 401 else { return (response, issued.credentials) }
            tokens.refuse(issued)
            let newer = try await tokens.current()
            // The same would be refused again.
            guard newer.credentials != issued.credentials else { return (response, newer.credentials) }
            let second = try await sendOnce(method, body, newer.credentials, patience)
            if second.status == 401 { tokens.refuse(newer) }
            return (second, newer.credentials)
        } catch let error as HTTPError {
            throw StorageError(error)
        } catch {
            throw StorageError(wrapping: error)
        }
    }

    private func sendOnce(
        _ method: HTTPRequest.Method, _ body: RequestBody, _ token: BearerToken, _ patience: Duration?
    ) async throws -> HTTPResponse {
        var request = HTTPRequest(method, base.origin, base.path.isEmpty ? "/" : base.path, body: body)
        try request.headers.set("authorization", token.field)
        try request.headers.set("accept", "application/json")
        if method == .post { try request.headers.set("content-type", "application/json") }
        request.reply = .bytes(limit: 4 << 20)
        request.stallTimeout = patience
        return try await transport.send(request)
    }
}

extension SigningOperation {
    /// How long to wait for the answer; nil for as long as for every other. The server may have to read a whole object
    /// or to put one together, and ends that itself after 300 seconds.
    fileprivate var patience: Duration? {
        switch self {
        case .upload, .complete, .confirm: .seconds(330)
        default: nil
        }
    }
}
