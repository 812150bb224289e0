import Synchronization

/// A storage decorator that retries the calls that a person waits for: downloads, descriptions and listings.
///
/// Uploads and deletes are passed on without retries. The transfer queue and the deletion worker retry them, and store
/// their attempts in the database. A second layer of retries would multiply the attempts.
package struct RetryingStorage<Base: RemoteStorage>: RemoteStorage {
    private let base: Base
    private let retries: Retries

    /// Adds retries to a storage.
    ///
    /// - Parameters:
    ///   - base: the decorated storage.
    ///   - maxAttempts: the total number of attempts for a call, at least 1.
    ///   - backoff: the delays between two attempts.
    ///   - clock: the clock that measures the delays.
    ///   - random: returns a random number in `0..<1` for the jitter.
    package init(
        _ base: Base, maxAttempts: Int = 4, backoff: Backoff = Backoff(),
        clock: any Clock<Duration> = ContinuousClock(),
        random: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
    ) {
        self.base = base
        retries = Retries(
            maxAttempts: maxAttempts, backoff: backoff, clock: clock, random: random, repeatsCancelled: false)
    }

    /// The capabilities of the decorated storage.
    package var capabilities: StorageCapabilities { base.capabilities }

    /// Passes the call on without retries.
    package func upload(_ source: UploadSource, to key: ObjectKey, session: UploadSession) async throws -> RemoteObject
    {
        try await base.upload(source, to: key, session: session)
    }

    /// Passes the call on without retries.
    package func delete(_ key: ObjectKey, abandoning checkpoint: UploadCheckpoint?) async throws {
        try await base.delete(key, abandoning: checkpoint)
    }

    /// Passes the call on and retries it after errors that may pass.
    package func head(_ key: ObjectKey) async throws -> RemoteObject {
        try await retrying { try await base.head(key) }
    }

    /// Passes the call on and retries it after errors that may pass.
    package func list(_ request: ListRequest) async throws -> ListPage {
        try await retrying { try await base.list(request) }
    }

    /// Passes the call on. A retry continues after the last byte that reached the sink, provided that the object is
    /// unchanged.
    ///
    /// All bytes of a download belong to the version of its first byte, because two versions must never be mixed. If
    /// the storage does not report a version, the download cannot be resumed, and an error after the first byte is
    /// final. A retry that receives bytes without a version ends with ``StorageError/Code/changed``.
    package func download(_ request: DownloadRequest, into sink: DownloadSink) async throws -> RemoteObject {
        let arrived = ResumingDownload.ResumedRange(byteCount: 0, entityTag: request.entityTag)
        let state = Mutex((arrived: arrived, isMixed: false))
        let counting = DownloadSink(mayBlock: sink.mayBlock) { tag in
            state.withLock { $0.isMixed = !$0.arrived.begin(entityTag: tag) }
            sink.begin(entityTag: tag)
        } _: { bytes in
            if state.withLock({ $0.isMixed }) {
                throw StorageError(.changed, message: "The object was replaced while it was read.", key: request.key)
            }
            try sink.write(bytes)
            state.withLock { $0.arrived.byteCount += Int64(bytes.count) }
        }
        let download = ResumingDownload(retries) { state.withLock { $0.arrived } }
        return try await download.run { before in
            // Later bytes are accepted only after the storage has reported the same version for them.
            state.withLock { $0.isMixed = before.byteCount > 0 }
            return try await base.download(request.rest(after: before), into: counting)
        }
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
