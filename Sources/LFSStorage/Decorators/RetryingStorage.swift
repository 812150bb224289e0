import Synchronization

/// Tries calls again that a person is waiting for: downloads, descriptions, listings.
///
/// Uploads and deletes pass through untouched. They are retried by the transfer queue and the deletion worker, which
/// keep their tries in the database; a second layer of retries would multiply the two.
public struct RetryingStorage<Base: RemoteStorage>: RemoteStorage {
    private let base: Base
    private let retries: Retries

    /// Puts the retries before a storage.
    ///
    /// - Parameters:
    ///   - base: the storage that answers.
    ///   - maxAttempts: how often a call is tried in all, at least once.
    ///   - backoff: how long to wait between two tries.
    ///   - clock: what measures the waits.
    ///   - random: draws a number from 0 up to 1 for the jitter.
    public init(
        _ base: Base, maxAttempts: Int = 4, backoff: Backoff = Backoff(),
        clock: any Clock<Duration> = ContinuousClock(),
        random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
    ) {
        self.base = base
        retries = Retries(
            maxAttempts: maxAttempts, backoff: backoff, clock: clock, random: random, repeatsCancelled: false)
    }

    /// Those of the storage below.
    public var capabilities: StorageCapabilities { base.capabilities }

    /// Passes the call on; see the type for which calls are tried again.
    public func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject {
        try await base.upload(source, to: key, session: session)
    }

    /// Passes the call on; see the type for which calls are tried again.
    public func delete(_ key: ObjectKey, abandoning checkpoint: UploadCheckpoint?) async throws {
        try await base.delete(key, abandoning: checkpoint)
    }

    /// Passes the call on; see the type for which calls are tried again.
    public func head(_ key: ObjectKey) async throws -> RemoteObject {
        try await retrying { try await base.head(key) }
    }

    /// Passes the call on; see the type for which calls are tried again.
    public func list(_ request: ListRequest) async throws -> ListPage {
        try await retrying { try await base.list(request) }
    }

    /// Goes on after the last byte that reached the sink, and only while the object is the same one.
    ///
    /// A download is held to the version whose first byte came. A storage that does not tell the version is not asked
    /// to go on: two versions must never be mixed, so after its first byte an error is final.
    public func download(_ request: DownloadRequest, into sink: DownloadSink) async throws -> RemoteObject {
        let arrived = ResumingDownload.Arrived(byteCount: 0, entityTag: request.entityTag)
        let state = Mutex((arrived: arrived, isMixed: false))
        let counting = DownloadSink(mayBlock: sink.mayBlock) { tag in
            state.withLock { $0.isMixed = !$0.arrived.begin(entityTag: tag) }
            sink.begin(entityTag: tag)
        } _: { bytes in
            if state.withLock({ $0.isMixed }) {
                throw StorageError(.changed, "The object was replaced while it was read.", key: request.key)
            }
            try sink.write(bytes)
            state.withLock { $0.arrived.byteCount += Int64(bytes.count) }
        }
        let download = ResumingDownload(retries) { state.withLock { $0.arrived } }
        return try await download.run { try await base.download(request.rest(after: $0), into: counting) }
    }

    private func retrying<Result>(_ call: () async throws -> Result) async throws -> Result {
        var failures = 0
        while true {
            do {
                return try await call()
            } catch {
                failures += 1
                try await retries.wait(afterFailures: failures, error)
            }
        }
    }
}
