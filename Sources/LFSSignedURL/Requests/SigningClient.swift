import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSSystem
import LFSWire
import Synchronization

/// Asks the signing server, many things in one request, and sends to the store what it allows.
///
/// The token goes to the signing server's own origin, and no redirect is followed anywhere.
final class SigningClient: Sendable {
    /// The most objects in a request, whatever the server takes: a request has at most 1 MiB.
    static let largestBatch = 100
    /// From that many bytes on, the first body waits for the store's consent: a refusal by the head saves sending it.
    private static let consentByteCount = 1 << 20

    let base: Endpoint
    let clock: any Clock<Duration>
    private let transport: any HTTPTransport
    private let tokens: Tokens
    private let hasUploaded = Mutex(false)
    private let descriptions: AnswerCache<Int, SigningDescription>
    private let batchers: [SigningOperation: AskBatcher<SigningObject, SigningAnswer>]

    init(
        _ base: Endpoint, transport: any HTTPTransport, authorization: SigningAuthorization, clock: any Clock<Duration>
    ) {
        self.base = base
        self.clock = clock
        let server = SigningServer(base: base, transport: transport, tokens: Tokens(authorization))
        self.transport = transport
        tokens = server.tokens
        let descriptions = AnswerCache<Int, SigningDescription>(capacity: 1, clock: Elapsed(clock))
        self.descriptions = descriptions
        self.server = server
        batchers = Dictionary(
            SigningOperation.allCases.map { operation in
                let largest = operation.largestBatch ?? Self.largestBatch
                return (
                    operation,
                    AskBatcher(upTo: largest, clock: clock) { objects in
                        do throws(StorageError) {
                            let description = try await Self.description(descriptions, server)
                            return await server.answers(operation, objects, upTo: description.largestBatch)
                        } catch {
                            return objects.map { _ in .failure(error) }
                        }
                    }
                )
            }, uniquingKeysWith: { first, _ in first })
    }

    private let server: SigningServer

    /// Asks the app for its token, and nobody else for anything.
    func requireToken() async throws { _ = try await tokens.current() }

    /// What the server says of itself. It is asked once an hour.
    func description() async throws(StorageError) -> SigningDescription {
        try await Self.description(descriptions, server)
    }

    private static func description(
        _ cache: AnswerCache<Int, SigningDescription>, _ server: SigningServer
    ) async throws(StorageError) -> SigningDescription {
        try await cache.answer(for: 0, lifetime: { _ in .seconds(3_600) }) { () throws(StorageError) in
            try await server.description()
        }
    }

    /// The answer to one object, which may be a refusal.
    func ask(
        _ operation: SigningOperation, _ object: SigningObject
    ) async throws(StorageError) -> SigningAnswer {
        guard let batcher = batchers[operation] else { throw SigningAnswer.nonsense(nil) }
        return try await batcher.answer(to: object)
    }

    /// As ``ask(_:_:)``, for what may take the server longer than a request: it is asked again as long as it says that
    /// it goes on. A refusal also comes when it goes on and on.
    func askPatiently(
        _ operation: SigningOperation, _ object: SigningObject
    ) async throws(StorageError) -> SigningAnswer {
        var answer = try await ask(operation, object)
        for _ in 0..<Self.askLimit {
            guard let failure = answer.error, failure.code == .inProgress else { break }
            await clock.wait(for: .seconds(min(max(failure.retryAfter ?? 0, 1), 60)))
            guard !Task.isCancelled else { throw StorageError(wrapping: CancellationError()) }
            answer = try await ask(operation, object)
        }
        return answer
    }

    /// About an hour with a server that lets each ask wait for a minute.
    static let askLimit = 60

    /// How many asks for an operation wait for others to travel with.
    func gathering(_ operation: SigningOperation) -> Int { batchers[operation]?.gatheringCount ?? 0 }

    /// The outcome of each object, in order.
    func ask(_ operation: SigningOperation, _ objects: [SigningObject]) async -> [Result<SigningAnswer, StorageError>] {
        await batchers[operation]?.outcomes(of: objects) ?? []
    }

    /// Sends a request to the store. Once it has taken a body, others do not wait for its consent: some stores never
    /// give it, and every large body would be a second late.
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

    /// Where an object is, as a row has it: below the server's URL, which stays when the store is another one.
    func url(of key: ObjectKey) -> URL {
        let text = "\(base.origin)\(base.path)/\(key.rawValue)"
        return URL(string: text) ?? URL(fileURLWithPath: key.rawValue)
    }

    func object(_ key: ObjectKey, _ answer: SigningAnswer.Object) -> RemoteObject {
        RemoteObject(
            key: key, byteCount: answer.size, sha256: answer.sha256,
            entityTag: answer.entityTag.flatMap(EntityTag.init)?.text, url: url(of: key))
    }
}
