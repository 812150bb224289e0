package import LFSStorage
import Synchronization

/// A function that wraps each attempt to upload and verify a file, and returns its result. Used for measurements.
package typealias UploadAttempt =
    @Sendable (TransferJob, _ body: () async throws -> RemoteObject) async throws -> RemoteObject

/// A worker that runs one job: it checks whether the upload is needed, uploads, verifies and returns the outcome. It
/// never throws.
struct Executor: Sendable {
    let storage: any RemoteStorage
    let journal: any TransferJournal
    let policy: RetryPolicy
    let events: @Sendable (TransferEvent) -> Void
    let attempt: UploadAttempt
    private let envelope: CheckpointEnvelope

    init(
        storage: any RemoteStorage, journal: any TransferJournal, policy: RetryPolicy,
        events: @escaping @Sendable (TransferEvent) -> Void,
        attempt: @escaping UploadAttempt = { _, body in try await body() }
    ) {
        self.storage = storage
        self.journal = journal
        self.policy = policy
        self.events = events
        self.attempt = attempt
        envelope = CheckpointEnvelope(storage.capabilities)
    }

    /// - Parameters:
    ///   - upcoming: see ``UploadSession/upcoming(limit:)``.
    ///   - onAccepted: called when the storage has accepted a part of the job, possibly long before its end.
    func run(
        _ job: TransferJob, upcoming: @escaping @Sendable (_ limit: Int) -> [UpcomingUpload],
        onAccepted: @escaping @Sendable () -> Void
    ) async -> TransferOutcome {
        let checkpoint = envelope.open(job.checkpoint)
        let sent = SentBytes(isResumed: checkpoint != nil)
        do {
            switch try await check(job) {
            case .skip(let reason): return TransferOutcome(job: job, result: .skipped(reason))
            case .fail(let error): return TransferOutcome(job: job, result: .failed(error))
            case .upload(let source):
                let session = session(job, checkpoint: checkpoint, source: source, sent: sent, upcoming, onAccepted)
                let object = try await attempt(job) { try await upload(source, job: job, sent: sent, session: session) }
                return TransferOutcome(job: job, result: .uploaded(object))
            }
        } catch {
            var failure = StorageError(wrapping: error, key: job.key)
            if Task.isCancelled, failure.isRetryable {
                // The task was cancelled. So an error of the storage, for example a broken connection, is a consequence
                // of that.
                failure = StorageError(.cancelled, message: "The upload was stopped.", key: job.key, cause: error)
            } else if failure.code == .cancelled {
                // The task was not cancelled. So this is an ordinary failure, with a delay before the next attempt.
                failure = StorageError(
                    .unknown, message: "The storage cancelled the upload without a reason.", key: job.key, cause: error)
            }
            return TransferOutcome(job: job, result: policy.result(of: failure, job, sent: sent.count))
        }
    }

    private func check(_ job: TransferJob) async throws -> UploadDecision {
        do {
            return try await journal.check(job)
        } catch {
            throw Self.ofDatabase("The row of the upload could not be read", error: error, job: job)
        }
    }

    /// Converts an error of the journal, so that it is not attributed to the storage.
    private static func ofDatabase(_ what: String, error: any Error, job: TransferJob) -> any Error {
        if error is StorageError || error is CancellationError { return error }
        return StorageError(.databaseFailed, message: "\(what): \(error)", key: job.key, cause: error)
    }

    private func session(
        _ job: TransferJob, checkpoint: UploadCheckpoint?, source: UploadSource, sent: SentBytes,
        _ upcoming: @escaping @Sendable (_ limit: Int) -> [UpcomingUpload], _ onAccepted: @escaping @Sendable () -> Void
    ) -> UploadSession {
        let (events, journal, envelope) = (events, journal, envelope)
        return UploadSession(
            checkpoint: checkpoint, replacesObject: job.replacesObject,
            onProgress: { bytes in
                sent.report(bytes)
                events(.progress(id: job.id, bytesTransferred: bytes, totalBytes: source.byteCount))
            },
            onSave: { checkpoint in
                // A checkpoint is saved after the storage has accepted the bytes that it describes, so the storage is
                // available.
                onAccepted()
                do {
                    try await journal.save(envelope.seal(checkpoint), for: job)
                } catch {
                    throw Self.ofDatabase("The state of the upload could not be saved", error: error, job: job)
                }
            },
            upcoming: upcoming)
    }

    private func upload(
        _ source: UploadSource, job: TransferJob, sent: SentBytes, session: UploadSession
    ) async throws -> RemoteObject {
        if let limit = storage.capabilities.maximumByteCount, source.byteCount > limit {
            throw StorageError(
                .tooLarge,
                message: "The storage accepts files of up to \(limit) bytes, but this one has \(source.byteCount).",
                key: job.key)
        }
        var object = try await storage.upload(source, to: job.key, session: session)
        sent.report(source.byteCount)
        if object.sha256 == nil, storage.capabilities.proof == .checksum {
            // The storage usually reports a checksum, but did not do so for this file. It must at least confirm the
            // size.
            object.byteCount = try await storage.head(job.key).byteCount
        }
        try UploadConfirmation.require(object, for: source, job: job)
        // With the right checksum the object is complete, whatever happened to the source since it was read.
        if object.sha256 == nil { try source.requireUnchanged() }
        return object
    }
}
