import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSSystem
import LFSWire
import Synchronization

/// A client that asks the signing server, in batches, and sends the signed requests to the store.
///
/// The token is only sent to the signing server's origin, and redirects are never followed.
final class SigningClient: Sendable {
    /// The maximum number of objects in a request, whatever the server accepts. A request has at most 1 MiB.
    static let largestBatch = 100
    /// The size in bytes from which the first body waits for the store's `100 Continue`. If the store refuses the head,
    /// the body need not be sent.
    private static let consentByteCount = 1 << 20

    let base: Endpoint
    let clock: any Clock<Duration>
    private let transport: any HTTPTransport
    private let tokens: Tokens
    private let hasUploaded = Mutex(false)
    private let descriptions: SignedRequestCache<Int, SigningDescription>
    private let batchers: [SigningOperation: SignRequestBatcher<SigningObject, SigningAnswer>]

    init(
        _ base: Endpoint, transport: any HTTPTransport, authorization: SigningAuthorization, clock: any Clock<Duration>
    ) {
        self.base = base
        self.clock = clock
        let server = SigningServer(base: base, transport: transport, tokens: Tokens(authorization))
        self.transport = transport
        tokens = server.tokens
        let descriptions = SignedRequestCache<Int, SigningDescription>(capacity: 1, clock: Elapsed(clock))
        self.descriptions = descriptions
        self.server = server
        batchers = Dictionary(
            SigningOperation.allCases.map { operation in
                let largest = operation.largestBatch ?? Self.largestBatch
                return (
                    operation,
                    SignRequestBatcher(upTo: largest, clock: clock) { objects in
                        do throws(StorageError) {
                            let description = try await Self.description(descriptions, server: server)
                            return await server.answers(operation, objects: objects, upTo: description.largestBatch)
                        } catch {
                            return objects.map { _ in .failure(error) }
                        }
                    }
                )
            }, uniquingKeysWith: { first, _ in first })
    }

    private let server: SigningServer

    /// Asks the app for its token, and makes no request.
    func requireToken() async throws { _ = try await tokens.current() }

    /// Returns the server's description of itself. It is cached for an hour.
    func description() async throws(StorageError) -> SigningDescription {
        try await Self.description(descriptions, server: server)
    }

    private static func description(
        _ cache: SignedRequestCache<Int, SigningDescription>, server: SigningServer
    ) async throws(StorageError) -> SigningDescription {
        try await cache.answer(for: 0, lifetime: { _ in .seconds(3_600) }) { () throws(StorageError) in
            try await server.description()
        }
    }

    /// Returns the answer for one object, which may be a refusal.
    func ask(
        _ operation: SigningOperation, object: SigningObject
    ) async throws(StorageError) -> SigningAnswer {
        guard let batcher = batchers[operation] else { throw SigningAnswer.nonsense(nil) }
        return try await batcher.answer(to: object)
    }

    /// Asks like ``ask(_:_:)``, for operations that may take longer than one request. It asks again while the server
    /// answers that the operation is in progress. If it never finishes, the last answer is such a refusal.
    func askPatiently(
        _ operation: SigningOperation, object: SigningObject
    ) async throws(StorageError) -> SigningAnswer {
        var answer = try await ask(operation, object: object)
        for _ in 0..<Self.askLimit {
            guard let failure = answer.error, failure.code == .inProgress else { break }
            await clock.wait(for: .seconds(min(max(failure.retryAfter ?? 0, 1), 60)))
            guard !Task.isCancelled else { throw StorageError(wrapping: CancellationError()) }
            answer = try await ask(operation, object: object)
        }
        return answer
    }

    /// The maximum number of requests. They take about an hour with a server that requests a delay of one minute each
    /// time.
    static let askLimit = 60

    /// Returns the number of requests of an operation that wait for others in their batch.
    func gathering(_ operation: SigningOperation) -> Int { batchers[operation]?.gatheringCount ?? 0 }

    /// Returns the outcome of each object, in order.
    func ask(_ operation: SigningOperation, objects: [SigningObject]) async -> [Result<SigningAnswer, StorageError>] {
        await batchers[operation]?.outcomes(of: objects) ?? []
    }

    /// Sends a request to the store.
    ///
    /// After the store has accepted a body, later requests do not wait for `100 Continue`. Some stores never send it,
    /// and every large body would be delayed by a second.
    ///
    /// - Throws: ``StoreFailure`` for any status but 2xx.
    func send(_ request: HTTPRequest, about key: ObjectKey?) async throws -> HTTPResponse {
        var request = request
        request.expectsContinue =
            request.body.byteCount >= Self.consentByteCount && !hasUploaded.withLock { $0 }
        let response = try await transport.send(request)
        guard response.head.isSuccess else { throw StoreFailure(response, to: request, about: key) }
        try response.requireWhole(request.body, of: key)
        if request.body.byteCount > 0 { hasUploaded.withLock { $0 = true } }
        return response
    }

    /// Returns the URL of an object for its row. It is below the server's URL, which does not change with the store.
    func url(of key: ObjectKey) -> URL {
        let text = "\(base.origin)\(base.path)/\(key.rawValue)"
        return URL(string: text) ?? URL(fileURLWithPath: key.rawValue)
    }

    func object(_ key: ObjectKey, answer: SigningAnswer.Object) -> RemoteObject {
        RemoteObject(
            key: key, byteCount: answer.size, sha256: answer.sha256,
            entityTag: answer.entityTag.flatMap(EntityTag.init)?.text, url: url(of: key))
    }
}
