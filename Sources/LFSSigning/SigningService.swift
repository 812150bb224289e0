public import Foundation
import LFSHTTPStorage
public import LFSStorage
import LFSWire
public import Logging

/// Answers the requests of an app's devices for signed URLs, in any web framework or function host.
///
/// The host finds out who asks and hands over the body; the reply goes back as it is. The wire is described on the page
/// "The protocol of signed URLs" of the module `LFSWire`.
public final class SigningService: Sendable {
    /// What the server takes of one caller.
    public let limits: SigningLimits
    let backend: SigningBackend
    private let check: AccessCheck
    private let tokens: UploadTokens
    let budgets: CallerBudgets
    let work: SigningWork
    private let logger: Logger

    /// - Parameters:
    ///   - backend: the store.
    ///   - access: who may do what.
    ///   - secret: what upload tokens are signed with; the same for all processes of the server.
    ///   - limits: what it takes of one caller.
    ///   - logger: gets operation, key and a hash of the caller, never a URL or a token.
    /// - Throws: `StorageError.Code.invalidRequest` when namespaces are to be claimed in a store that cannot let one of
    ///   several win, and for limits that make no sense.
    public convenience init(
        backend: SigningBackend, access: SigningAccess, secret: SigningSecret, limits: SigningLimits = SigningLimits(),
        logger: Logger = Logger(label: "lfs.signing")
    ) throws(StorageError) {
        let start = ContinuousClock.now
        try self.init(
            backend, access, secret, limits, logger, uptime: { ContinuousClock.now - start }, clock: ContinuousClock())
    }

    init(
        _ backend: SigningBackend, _ access: SigningAccess, _ secret: SigningSecret, _ limits: SigningLimits,
        _ logger: Logger, uptime: @escaping @Sendable () -> Duration, clock: any Clock<Duration>
    ) throws(StorageError) {
        guard !access.claimsNamespaces || backend.createsAtomically else {
            throw StorageError(
                .invalidRequest,
                "This store lets several who claim a namespace at the same time win: decide who may do what by a rule.")
        }
        let seconds = limits.expiry.components.seconds
        guard (1...604_800).contains(seconds), (1...10_000).contains(limits.largestBatch), limits.burst > 0,
            limits.objectsPerSecond > 0, (1...1 << 20).contains(limits.largestRequest), limits.concurrency > 0,
            limits.wholeReads > 0
        else {
            throw StorageError(.invalidRequest, "The limits make no sense: see SigningLimits for what each may be.")
        }
        self.backend = backend
        self.limits = limits
        self.logger = logger
        check = AccessCheck(access: access, claims: NamespaceClaims(backend.objects))
        tokens = UploadTokens(secret: secret)
        budgets = CallerBudgets(limits, uptime: uptime)
        work = SigningWork(readCount: limits.wholeReads, clock: clock)
    }

    /// Ends what goes on after those who have asked for it were told so: parts that are put together, objects that are
    /// read. Whoever asks again after the next start begins it anew.
    public func shutdown() async {
        await work.stop()
        await check.claims.stop()
    }

    /// What the server says of itself: the reply to a GET of its base URL.
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
    ///   - body: of the request.
    ///   - caller: who asks, the same text for the same user for ever: what a user owns is noted under it.
    ///   - requestID: for the log.
    public func answer(_ body: Data, caller: String, requestID: String? = nil) async -> SigningReply {
        switch accepted(body, caller) {
        case .failure(let failure):
            log("request", nil, caller, requestID, failure.code)
            return SigningReply(Self.status(of: failure.code), failure)
        case .success(let request):
            return SigningReply(SigningReplyBody(await answers(to: request, caller, requestID)))
        }
    }

    /// Removes an object that a caller may remove, as its own request for that would. It returns when the store has
    /// confirmed.
    ///
    /// - Parameters:
    ///   - key: of the object.
    ///   - caller: on whose behalf it goes.
    /// - Returns: false when the caller may not, when nobody has written below its namespace yet, and for a text that
    ///   is no key: nothing was removed.
    /// - Throws: `StorageError`, what the host's rule throws, `CancellationError`.
    public func remove(_ key: String, of caller: String) async throws -> Bool {
        guard let key = ObjectKey(listed: key), key.rawValue.contains("/") else { return false }
        do {
            guard case .allowed = try await check.check(caller, .delete, key.namespace, key) else { return false }
        } catch let failure as WireFailure where failure.code == .forbidden {
            return false
        }
        try await backend.objects.delete(key)
        log("remove", key.rawValue, caller, nil, nil)
        return true
    }

    private func accepted(_ body: Data, _ caller: String) -> Result<SigningRequest, WireFailure> {
        Result { () throws(WireFailure) in
            let request = try read(body)
            try budgets.take(request.objects.count, caller: Self.hash(ofCaller: caller))
            return request
        }
    }

    private func read(_ body: Data) throws(WireFailure) -> SigningRequest {
        guard body.count <= limits.largestRequest else {
            throw WireFailure(.tooLarge, "A request has at most \(limits.largestRequest) bytes.")
        }
        let request = try WireFormat.decode(SigningRequest.self, from: body, .request)
        let most = min(request.operation.largestBatch ?? .max, limits.largestBatch)
        guard request.objects.count <= most else {
            throw WireFailure(.tooLarge, "A request for this operation has at most \(most) objects.")
        }
        return request
    }

    private static func status(of code: WireFailure.Code) -> Int {
        switch code {
        case .tooLarge: 413
        case .throttled: 429
        default: 400
        }
    }

    /// In the order of the objects, some of them at the same time.
    private func answers(
        to request: SigningRequest, _ caller: String, _ requestID: String?
    ) async -> [SigningAnswer] {
        let objects = request.objects
        return await withTaskGroup(of: (Int, SigningAnswer).self) { group in
            var answers = [SigningAnswer](repeating: .done, count: objects.count)
            var next = 0
            while next < objects.count || !group.isEmpty {
                if next < objects.count, next < limits.concurrency {
                    group.addTask { [next] in
                        (next, await self.answer(request.operation, objects[next], caller, requestID))
                    }
                    next += 1
                    continue
                }
                guard let (index, answer) = await group.next() else { break }
                answers[index] = answer
                if next < objects.count {
                    group.addTask { [next] in
                        (next, await self.answer(request.operation, objects[next], caller, requestID))
                    }
                    next += 1
                }
            }
            return answers
        }
    }

    private func answer(
        _ operation: SigningOperation, _ object: Checked<SigningObject>, _ caller: String, _ requestID: String?
    ) async -> SigningAnswer {
        var key: String?
        do {
            let object = try object.get()
            key = object.key ?? object.prefix ?? object.upload.flatMap { tokens.key(of: $0, caller: caller) }
            let call = SigningCall(
                backend: backend, check: check, tokens: tokens, budgets: budgets, work: work, limits: limits,
                caller: caller)
            let answer = try await call.run(operation, object)
            log(operation.rawValue, key, caller, requestID, nil)
            return answer
        } catch {
            let failure = WireFailure(error)
            log(operation.rawValue, key, caller, requestID, failure.code, error)
            return .refused(failure)
        }
    }

    /// A short hash of a caller, as the log and the server's own URLs have it.
    public static func hash(ofCaller caller: String) -> String { NamespaceClaims.shortHash(caller) }

    // MARK: The log

    private static let faults: Set<WireFailure.Code> = [.serverError, .unavailable, .timeout, .noSpace]

    /// - Parameter key: as the caller wrote it: visible ASCII of bounded length.
    func log(
        _ operation: String, _ key: String?, _ caller: String?, _ requestID: String?, _ code: WireFailure.Code?,
        _ error: (any Error)? = nil
    ) {
        var metadata: Logger.Metadata = ["outcome": "\(code?.rawValue ?? "done")"]
        if let key { metadata["key"] = "\(key)" }
        if let caller { metadata["caller"] = "\(Self.hash(ofCaller: caller))" }
        if let requestID { metadata["request"] = "\(requestID)" }
        let isFault = code.map(Self.faults.contains) ?? false
        // Only a storage's error is known to hold no secret.
        if isFault, let error = error as? StorageError { metadata["error"] = "\(error)" }
        logger.log(level: isFault ? .error : code == nil ? .info : .notice, "\(operation)", metadata: metadata)
    }
}
