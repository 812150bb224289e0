public import Foundation
import LFSHTTPStorage
public import LFSStorage
import LFSSystem
import LFSWire
public import Logging

/// A service that answers requests of an app's devices for signed URLs, in any web framework or function host.
///
/// The host identifies the caller and passes in the body. It returns the reply unchanged. The page "The protocol of
/// signed URLs" of the module `LFSWire` describes the messages.
public final class SigningService: Sendable {
    /// The limits of requests, callers and reads.
    public let limits: SigningLimits
    let backend: SigningBackend
    private let check: AccessCheck
    private let tokens: UploadTokens
    let budgets: CallerBudgets
    let work: SigningWork
    private let logger: Logger

    /// Creates a service for one store.
    ///
    /// - Parameters:
    ///   - backend: the store.
    ///   - access: the rights of callers.
    ///   - secret: the secret that signs upload tokens, which is the same for all processes of the server.
    ///   - limits: the limits of requests, callers and reads.
    ///   - logger: receives the operation, the key and a hash of the caller, but never a URL or a token.
    /// - Throws: `StorageError.Code.invalidRequest` if namespaces are claimed in a store that cannot let exactly one of
    ///   several callers succeed, and for invalid limits.
    public convenience init(
        backend: SigningBackend, access: SigningAccess, secret: SigningSecret, limits: SigningLimits = SigningLimits(),
        logger: Logger = Logger(label: "lfs.signing")
    ) throws(StorageError) {
        let start = ContinuousClock.now
        try self.init(
            backend, access: access, secret: secret, limits: limits, logger: logger,
            uptime: { ContinuousClock.now - start }, clock: ContinuousClock())
    }

    init(
        _ backend: SigningBackend, access: SigningAccess, secret: SigningSecret, limits: SigningLimits,
        logger: Logger, uptime: @escaping @Sendable () -> Duration, clock: any Clock<Duration>
    ) throws(StorageError) {
        guard !access.claimsNamespaces || backend.createsAtomically else {
            throw StorageError(
                .invalidRequest,
                message: """
                    In this store, several callers could claim a namespace at the same time. Use \
                    SigningAccess.rule(_:) instead.
                    """
            )
        }
        let seconds = limits.expiry.components.seconds
        guard (1...604_800).contains(seconds), (1...10_000).contains(limits.largestBatch), limits.burst > 0,
            limits.objectsPerSecond > 0, (1...1 << 20).contains(limits.largestRequest), limits.concurrency > 0,
            limits.wholeReads > 0
        else {
            throw StorageError(
                .invalidRequest, message: "The limits are not valid. See SigningLimits for the range of each.")
        }
        self.backend = backend
        self.limits = limits
        self.logger = logger
        let budgets = CallerBudgets(limits, uptime: uptime)
        let claims = NamespaceClaims(backend.objects) { account in
            try budgets.open(limits.creationBytes, caller: account)
        }
        self.budgets = budgets
        check = AccessCheck(access: access, claims: claims)
        tokens = UploadTokens(secret: secret)
        work = SigningWork(readCount: limits.wholeReads, clock: clock)
    }

    /// Stops work that continues after its callers have left: joining parts and reading objects. A request after the
    /// next start begins such work again.
    public func shutdown() async {
        await work.stop()
        await check.claims.stop()
    }

    /// Returns the server's description of itself, which is the reply to a GET of its base URL.
    public func description() -> SigningReply {
        let parts = backend.parts.map { parts in
            SigningDescription.Parts(
                threshold: max(parts.threshold, 1), smallest: parts.limits.minimumSize,
                largest: parts.limits.maximumSize,
                count: Int64(parts.limits.maximumCount),
                digests: backend.partDigests == backend.digests ? nil : backend.partDigests)
        }
        return SigningReply(
            SigningDescription(
                digests: backend.digests, largestBatch: Int64(limits.largestBatch),
                largestObject: limits.largestObject ?? backend.objects.storage.capabilities.maximumByteCount,
                parts: parts))
    }

    /// Answers a POST to the base URL.
    ///
    /// - Parameters:
    ///   - body: the body of the request.
    ///   - caller: a text that identifies the caller. It must stay the same for a user forever, because ownership is
    ///     stored under it.
    ///   - rights: the operations that the caller may use.
    ///   - requestID: a name of the request for the log.
    public func answer(
        _ body: Data, caller: String, rights: SigningRights = .all, requestID: String? = nil
    ) async -> SigningReply {
        switch accepted(body, caller: caller, rights: rights) {
        case .failure(let failure):
            log("request", caller: caller, requestID: requestID, code: failure.code)
            return SigningReply(Self.status(of: failure.code), failure: failure)
        case .success(let request):
            let answers = await answers(to: request, caller, rights: rights, requestID: requestID)
            return SigningReply(SigningReplyBody(answers))
        }
    }

    /// Deletes an object on behalf of a caller, as the caller's own request would. Returns when the store has confirmed
    /// the deletion.
    ///
    /// - Parameters:
    ///   - key: the key of the object.
    ///   - caller: the caller on whose behalf the object is deleted.
    /// - Returns: false if no object was deleted: the caller has no right to do so, no caller has written below the
    ///   namespace yet, or the text is not a key.
    /// - Throws: `StorageError`, errors of the host's rule, `CancellationError`.
    public func remove(_ key: String, of caller: String) async throws -> Bool {
        guard let key = ObjectKey(listed: key), key.rawValue.contains("/") else { return false }
        do {
            guard case .allowed = try await check.check(caller, verb: .delete, namespace: key.namespace, key: key)
            else { return false }
        } catch let failure as WireFailure where failure.code == .forbidden {
            return false
        }
        try await backend.objects.delete(key)
        log("remove", key: key.rawValue, caller: caller)
        return true
    }

    /// Checks that the storage answers. Changes nothing in it.
    ///
    /// A folder has to be the one that was opened at the start. A bucket is asked for an object that does not exist.
    ///
    /// - Throws: `StorageError`, `CancellationError`.
    public func checkStorage() async throws {
        if let folder = backend.folder {
            try await folder.threads.run { _ in try folder.directory.requireRoot() }
            return
        }
        do {
            _ = try await backend.objects.storage.head(try ObjectKey("health/check"))
        } catch let error as StorageError where error.code == .missing {
            // The storage has answered.
        }
    }

    private func accepted(
        _ body: Data, caller: String, rights: SigningRights
    ) -> Result<SigningRequest, WireFailure> {
        Result { () throws(WireFailure) in
            let request = try read(body)
            guard rights.permits(request.operation) else {
                throw WireFailure(.readOnly, message: "The session may not use '\(request.operation.rawValue)'.")
            }
            try budgets.take(request.objects.count, caller: Self.hash(ofCaller: caller))
            return request
        }
    }

    private func read(_ body: Data) throws(WireFailure) -> SigningRequest {
        guard body.count <= limits.largestRequest else {
            throw WireFailure(.tooLarge, message: "A request has at most \(limits.largestRequest) bytes.")
        }
        let request = try WireFormat.decode(SigningRequest.self, from: body, limits: .request)
        let most = min(request.operation.largestBatch ?? .max, limits.largestBatch)
        guard request.objects.count <= most else {
            throw WireFailure(.tooLarge, message: "A request for this operation has at most \(most) objects.")
        }
        return request
    }

    private static func status(of code: WireFailure.Code) -> Int {
        switch code {
        case .tooLarge: 413
        case .throttled: 429
        case .readOnly: 403
        default: 400
        }
    }

    /// Returns the answers in the order of the objects. Several objects are processed concurrently.
    private func answers(
        to request: SigningRequest, _ caller: String, rights: SigningRights, requestID: String?
    ) async -> [SigningAnswer] {
        let objects = request.objects
        return await withTaskGroup(of: (Int, SigningAnswer).self) { group in
            var answers = [SigningAnswer](repeating: .done, count: objects.count)
            var next = 0
            while next < objects.count || !group.isEmpty {
                if next < objects.count, next < limits.concurrency {
                    group.addTask { [next] in
                        (
                            next,
                            await self.answer(
                                request.operation, object: objects[next], caller: caller, rights: rights,
                                requestID: requestID)
                        )
                    }
                    next += 1
                    continue
                }
                guard let (index, answer) = await group.next() else { break }
                answers[index] = answer
                if next < objects.count {
                    group.addTask { [next] in
                        (
                            next,
                            await self.answer(
                                request.operation, object: objects[next], caller: caller, rights: rights,
                                requestID: requestID)
                        )
                    }
                    next += 1
                }
            }
            return answers
        }
    }

    private func answer(
        _ operation: SigningOperation, object: Checked<SigningObject>, caller: String, rights: SigningRights,
        requestID: String?
    ) async -> SigningAnswer {
        var key: String?
        do {
            let object = try object.get()
            key = object.key ?? object.prefix ?? object.upload.flatMap { tokens.key(of: $0, caller: caller) }
            let call = SigningCall(
                backend: backend, check: check, tokens: tokens, budgets: budgets, work: work, limits: limits,
                caller: caller, rights: rights)
            let answer = try await call.run(operation, object: object)
            log(operation.rawValue, key: key, caller: caller, requestID: requestID)
            return answer
        } catch {
            let failure = WireFailure(error)
            log(
                operation.rawValue, key: key, caller: caller, requestID: requestID, code: failure.code, error: error)
            return .refused(failure)
        }
    }

    /// Returns a short hash of a caller, as the log and the server's own URLs contain it.
    public static func hash(ofCaller caller: String) -> String { NamespaceClaims.shortHash(caller) }

    // MARK: Log

    private static let faults: Set<WireFailure.Code> = [.serverError, .unavailable, .timeout, .noSpace]

    /// Logs an operation.
    ///
    /// - Parameter key: the key as the caller wrote it, visible ASCII of bounded length.
    func log(
        _ operation: String, key: String? = nil, caller: String? = nil, requestID: String? = nil,
        code: WireFailure.Code? = nil, error: (any Error)? = nil
    ) {
        var metadata: Logger.Metadata = ["outcome": "\(code?.rawValue ?? "done")"]
        if let key { metadata["key"] = "\(key)" }
        if let caller { metadata["caller"] = "\(Self.hash(ofCaller: caller))" }
        if let requestID { metadata["request"] = "\(requestID)" }
        let isFault = code.map(Self.faults.contains) ?? false
        // Only errors of storages are known to contain no secrets.
        if isFault, let error = error as? StorageError { metadata["error"] = "\(error)" }
        logger.log(level: isFault ? .error : code == nil ? .info : .notice, "\(operation)", metadata: metadata)
    }
}
