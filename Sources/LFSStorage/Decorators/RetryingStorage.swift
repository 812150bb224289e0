import Synchronization

/// Tries calls again that a person is waiting for: downloads, descriptions, listings.
///
/// Uploads and deletes pass through untouched. They are retried by the transfer queue and the deletion worker, which
/// keep their tries in the database; a second layer of retries would multiply the two.
public struct RetryingStorage<Base: RemoteStorage>: RemoteStorage {
    private let base: Base
    private let maxAttempts: Int
    private let backoff: Backoff
    private let clock: any Clock<Duration>
    private let random: @Sendable () -> Double

    /// - Parameters:
    ///   - maxAttempts: how often a call is tried in all, at least once.
    ///   - random: draws a number from 0 up to 1 for the jitter.
    public init(
        _ base: Base, maxAttempts: Int = 4, backoff: Backoff = Backoff(),
        clock: any Clock<Duration> = ContinuousClock(),
        random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
    ) {
        self.base = base
        self.maxAttempts = max(maxAttempts, 1)
        self.backoff = backoff
        self.clock = clock
        self.random = random
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
        let received = Mutex<Int64>(0)
        let version = Mutex(request.entityTag)
        let counting = DownloadSink {
            let tag = $0
            version.withLock { $0 = $0 ?? tag }
            sink.begin(entityTag: tag)
        } _: { bytes in
            try sink.write(bytes)
            received.withLock { $0 += Int64(bytes.count) }
        }
        let start = request.range?.lowerBound ?? 0
        let end = request.range?.upperBound ?? Int64.max
        var next = request
        return try await retrying {
            let position = start + received.withLock { $0 }
            if position > start {
                next.entityTag = version.withLock { $0 }
                next.range = position..<max(position, end)
            }
            return try await base.download(next, into: counting)
        } while: {
            received.withLock { $0 } == 0 || version.withLock { $0 } != nil
        }
    }

    private func retrying<Result>(
        _ call: () async throws -> Result, while mayGoOn: () -> Bool = { true }
    ) async throws -> Result {
        var attempt = 1
        while true {
            do {
                return try await call()
            } catch {
                // Anything but a storage's own error came from the sink, and a full disk is not mended by asking again.
                guard let failure = error as? StorageError, failure.isRetryable, failure.code != .cancelled,
                    attempt < maxAttempts, mayGoOn()
                else { throw error }
                let delay = backoff.delay(afterFailures: attempt, random: random())
                try await clock.sleep(for: min(max(delay, failure.retryAfter ?? .zero), backoff.cap))
                attempt += 1
            }
        }
    }
}
