import LFSHTTPStorage
import LFSStorage
import LFSWire
import Synchronization

/// Has the signatures of small files ready before their turn comes, so that none of them waits for the server.
///
/// Owner of the count: the mutex. What is ready belongs to the cache.
final class UploadActions: Sendable {
    /// How far ahead is looked, in files: two full requests.
    static let reach = 2 * SigningClient.largestBatch
    /// After so many uploads is looked again.
    static let stride = SigningClient.largestBatch / 4

    private let client: SigningClient
    private let clock: Elapsed
    private let isOn: Bool
    private let cache: AnswerCache<UploadAsk, SigningAnswer>
    private let sinceLook = Mutex(0)

    init(_ client: SigningClient, signsAhead: Bool) {
        self.client = client
        isOn = signsAhead
        clock = Elapsed(client.clock)
        cache = AnswerCache(capacity: 1_024, isForOneUse: true, clock: clock)
    }

    /// How many answers are ready.
    var readyCount: Int { cache.count }

    /// The answer for a file whose turn has come.
    func answer(to ask: UploadAsk) async throws(StorageError) -> SigningAnswer {
        let client = client
        return try await cache.answer(for: ask, lifetime: { _ in nil }) { () throws(StorageError) in
            try await client.ask(.upload, ask.object(replaces: false))
        }
    }

    /// The files that are worth asking for now, beside one whose turn it is; none as long as enough are ready.
    ///
    /// That one is among them, so that all travel in one request.
    func due(beside current: UploadAsk, _ session: UploadSession, _ description: SigningDescription) -> [UploadAsk] {
        // Another digest is known only when the file has been read.
        guard isOn, description.digests == [.sha256] else { return [] }
        let isTime = sinceLook.withLock { count in
            count += 1
            guard count >= Self.stride || cache.count < Self.stride else { return false }
            count = 0
            return true
        }
        guard isTime else { return [] }
        let largest = min(description.parts?.threshold ?? .max, description.largestObject ?? .max)
        let asks = session.upcoming(limit: Self.reach).filter { $0.byteCount < largest }.map { UploadAsk($0) }
        guard !asks.isEmpty else { return [] }
        return cache.claim(session.replacesObject || current.byteCount >= largest ? asks : [current] + asks)
    }

    /// Asks for what is due. No failure of it is a failure of the file that it is done beside: whoever needs such an
    /// answer hears of it.
    func sign(_ due: [UploadAsk]) async {
        if due.isEmpty { return }
        let asked = clock.now
        let outcomes = await client.ask(.upload, due.map { $0.object(replaces: false) })
        for (ask, outcome) in zip(due, outcomes) {
            var lifetime: Duration?
            // What is no action holds for the moment only.
            if case .success(let answer) = outcome {
                lifetime = answer.action(for: .upload).map { .seconds($0.expiresIn) }
            }
            cache.settle(ask, outcome, lifetime: lifetime, asked: asked)
        }
    }
}
