import LFSHTTPStorage
import LFSStorage
import LFSWire
import Synchronization

/// The prefetched signatures of small files. With them, uploads do not wait for the server.
///
/// The mutex owns the count, and the cache owns the signatures.
final class UploadActions: Sendable {
    /// The number of queued files to look ahead, which fills two requests.
    static let reach = 2 * SigningClient.largestBatch
    /// The number of uploads after which the queue is examined again.
    static let stride = SigningClient.largestBatch / 4

    private let client: SigningClient
    private let clock: Elapsed
    private let isOn: Bool
    private let cache: SignedRequestCache<SignRequest, SigningAnswer>
    private let sinceLook = Mutex(0)

    init(_ client: SigningClient, signsAhead: Bool) {
        self.client = client
        isOn = signsAhead
        clock = Elapsed(client.clock)
        cache = SignedRequestCache(capacity: 1_024, isForOneUse: true, clock: clock)
    }

    /// The number of prefetched answers.
    var readyCount: Int { cache.count }

    /// Returns the answer for a file whose upload starts now.
    func answer(to ask: SignRequest) async throws(StorageError) -> SigningAnswer {
        let client = client
        return try await cache.answer(for: ask, lifetime: { _ in nil }) { () throws(StorageError) in
            try await client.ask(.upload, object: ask.object(replaces: false))
        }
    }

    /// Returns the files whose signatures should be requested now, with the file whose upload starts. Empty while
    /// enough signatures are ready.
    ///
    /// The starting file is included, so that a single request asks for all of them.
    func due(beside current: SignRequest, _ session: UploadSession, description: SigningDescription) -> [SignRequest] {
        // Other digests require reading the file first.
        guard isOn, description.digests == [.sha256] else { return [] }
        let isTime = sinceLook.withLock { count in
            count += 1
            guard count >= Self.stride || cache.count < Self.stride else { return false }
            count = 0
            return true
        }
        guard isTime else { return [] }
        let largest = min(description.parts?.threshold ?? .max, description.largestObject ?? .max)
        let asks = session.upcoming(limit: Self.reach).filter { $0.byteCount < largest }.map { SignRequest($0) }
        guard !asks.isEmpty else { return [] }
        return cache.claim(session.replacesObject || current.byteCount >= largest ? asks : [current] + asks)
    }

    /// Requests the signatures that are due. A failure does not affect the current upload. The upload of the file
    /// concerned reports it.
    func sign(_ due: [SignRequest]) async {
        if due.isEmpty { return }
        let asked = clock.now
        let outcomes = await client.ask(.upload, objects: due.map { $0.object(replaces: false) })
        for (ask, outcome) in zip(due, outcomes) {
            var lifetime: Duration?
            // Other answers than actions are only valid at this moment, so they are not cached.
            if case .success(let answer) = outcome {
                lifetime = answer.action(for: .upload).map { .seconds($0.expiresIn) }
            }
            cache.settle(ask, outcome: outcome, lifetime: lifetime, asked: asked)
        }
    }
}
