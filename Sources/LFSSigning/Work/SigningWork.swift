import LFSStorage
import LFSSystem
import LFSWire
import Synchronization

/// What a service does that may take longer than a request: putting parts together, and reading whole objects.
///
/// Owner of the digests: the mutex.
final class SigningWork: Sendable {
    /// One version of an object.
    private struct Version: Hashable {
        let key: ObjectKey
        let byteCount: Int64
        let entityTag: String?
    }

    private struct Completion: Hashable {
        let ticket: UploadTicket
        let digests: PartsDigests
    }

    /// How long one who asks waits for an end; most works are done by then.
    static let patience = Duration.seconds(60)
    /// When one who was told that the work goes on should ask again.
    static let pause: Int64 = 5
    /// So many digests are kept.
    private static let keptCount = 256

    private let clock: any Clock<Duration>
    private let completions = SharedWork<Completion, SigningAnswer.Object>()
    private let reads = SharedWork<Version, String>()
    /// One account puts one upload together at a time, where the server does it itself.
    let joins = Turns<String>()
    private let permits: Permits
    private let digests = Mutex<[Version: String]>([:])

    /// - Parameter readCount: how many objects are read at the same time.
    init(readCount: Int, clock: any Clock<Duration>) {
        self.clock = clock
        permits = Permits(readCount)
    }

    /// Ends what is under way.
    func stop() async {
        await completions.stop()
        await reads.stop()
    }

    /// Puts parts together, once for all who ask for the same.
    ///
    /// - Throws: ``WireFailure/Code/inProgress`` when it goes on, and what the body throws.
    func completion(
        of ticket: UploadTicket, _ digests: PartsDigests,
        _ body: @escaping @Sendable () async throws -> SigningAnswer.Object
    ) async throws -> SigningAnswer.Object {
        let key = Completion(ticket: ticket, digests: digests)
        guard let object = try await completions.value(for: key, orUntil: wait, body) else {
            throw Self.inProgress("The parts are being put together")
        }
        return object
    }

    /// The SHA-256 of an object in hex, by reading it: once for all who ask, and while its version stays the last one.
    ///
    /// - Parameters:
    ///   - waits: whether to wait for the end, however long it takes.
    ///   - charge: called before an object is read that nobody has read or reads.
    ///   - read: reads it all.
    /// - Throws: ``WireFailure/Code/inProgress`` when it goes on, and what the others throw.
    func sha256(
        of object: RemoteObject, waits: Bool, charge: () throws -> Void,
        _ read: @escaping @Sendable () async throws -> String
    ) async throws -> String {
        let version = Version(key: object.key, byteCount: object.byteCount, entityTag: object.entityTag)
        // Without a tag nobody knows whether it is the same still.
        if object.entityTag != nil, let digest = digests.withLock({ $0[version] }) { return digest }
        if !reads.isUnderWay(version) { try charge() }
        let digest = try await reads.value(for: version, orUntil: waits ? nil : wait) { [self] in
            let digest = try await permits.withPermit { try await read() }
            keep(digest, version)
            return digest
        }
        guard let digest else { throw Self.inProgress("The object is being read") }
        return digest
    }

    private func keep(_ digest: String, _ version: Version) {
        digests.withLock { digests in
            // It is a short cut only: whichever goes is read again.
            if digests.count >= Self.keptCount, let any = digests.keys.first { digests[any] = nil }
            digests[version] = digest
        }
    }

    private var wait: @Sendable () async -> Void {
        { [clock] in await clock.wait(for: Self.patience) }
    }

    private static func inProgress(_ what: String) -> WireFailure {
        WireFailure(.inProgress, "\(what): ask again.", retryAfter: pause)
    }
}
