import LFSStorage
import LFSSystem
import LFSWire
import Synchronization

/// The work of a service that may take longer than a request: joining parts, and reading whole objects.
///
/// The mutex owns the digests.
final class SigningWork: Sendable {
    /// A version of an object.
    private struct Version: Hashable {
        let key: ObjectKey
        let byteCount: Int64
        let entityTag: String?
    }

    private struct Completion: Hashable {
        let ticket: UploadTicket
        let digests: PartsDigests
    }

    /// The time that a caller waits for the end of a work. Most works end earlier.
    static let patience = Duration.seconds(60)
    /// The delay in seconds after which a caller should ask again if the work continues.
    static let pause: Int64 = 5
    /// The maximum number of cached digests.
    private static let keptCount = 256

    private let clock: any Clock<Duration>
    private let completions = SharedWork<Completion, SigningAnswer.Object>()
    private let reads = SharedWork<Version, String>()
    /// A lock by account. Each account joins the parts of one upload at a time, if the server itself joins them.
    let joins = KeyedMutex<String>()
    private let permits: AsyncSemaphore
    private let digests = Mutex<[Version: String]>([:])

    /// - Parameter readCount: the number of objects that are read at the same time.
    init(readCount: Int, clock: any Clock<Duration>) {
        self.clock = clock
        permits = AsyncSemaphore(readCount)
    }

    /// Stops the running works.
    func stop() async {
        await completions.stop()
        await reads.stop()
    }

    /// Joins parts, once for all concurrent callers with the same request.
    ///
    /// - Throws: ``WireFailure/Code/inProgress`` if the work continues, and errors of the body.
    func completion(
        of ticket: UploadTicket, _ digests: PartsDigests,
        _ body: @escaping @Sendable () async throws -> SigningAnswer.Object
    ) async throws -> SigningAnswer.Object {
        let key = Completion(ticket: ticket, digests: digests)
        guard let object = try await completions.value(for: key, orUntil: wait, body) else {
            throw Self.inProgress("The parts are being assembled")
        }
        return object
    }

    /// Returns the SHA-256 of an object in hex by reading it. The object is read once for all callers, and again only
    /// when its version changes.
    ///
    /// - Parameters:
    ///   - waits: true to wait until the end, however long that takes.
    ///   - charge: called before an object is read, unless it was read before or is being read.
    ///   - read: reads the whole object.
    /// - Throws: ``WireFailure/Code/inProgress`` if the work continues, and errors of the closures.
    func sha256(
        of object: RemoteObject, waits: Bool, charge: () throws -> Void,
        _ read: @escaping @Sendable () async throws -> String
    ) async throws -> String {
        let version = Version(key: object.key, byteCount: object.byteCount, entityTag: object.entityTag)
        // Without an entity tag, the object may have changed.
        if object.entityTag != nil, let digest = digests.withLock({ $0[version] }) { return digest }
        if !reads.isUnderWay(version) { try charge() }
        let digest = try await reads.value(for: version, orUntil: waits ? nil : wait) { [self] in
            let digest = try await permits.withPermit { try await read() }
            keep(digest, version: version)
            return digest
        }
        guard let digest else { throw Self.inProgress("The object is being read") }
        return digest
    }

    private func keep(_ digest: String, version: Version) {
        digests.withLock { digests in
            // The digests are only a cache. A removed digest is computed again.
            if digests.count >= Self.keptCount, let any = digests.keys.first { digests[any] = nil }
            digests[version] = digest
        }
    }

    private var wait: @Sendable () async -> Void {
        { [clock] in await clock.wait(for: Self.patience) }
    }

    private static func inProgress(_ what: String) -> WireFailure {
        WireFailure(.inProgress, message: "\(what). Try again.", retryAfter: pause)
    }
}
