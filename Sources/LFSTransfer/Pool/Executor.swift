package import LFSStorage
import Synchronization

/// Stands around each try to send a file, with the proof it needs, and passes on what comes of it: for measuring.
package typealias UploadAttempt =
    @Sendable (TransferJob, _ body: () async throws -> RemoteObject) async throws -> RemoteObject

/// Carries out one job: ask, upload, require proof, say how it ended. It never throws and always ends in an outcome.
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
    ///   - upcoming: as ``UploadSession/upcoming(limit:)``.
    ///   - onAccepted: hears that the storage has taken something of the job, long before its end perhaps.
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
                let session = session(job, checkpoint, source, sent, upcoming, onAccepted)
                let object = try await attempt(job) { try await upload(source, job, sent, session) }
                return TransferOutcome(job: job, result: .uploaded(object))
            }
        } catch {
            var failure = StorageError(wrapping: error, key: job.key)
            if Task.isCancelled, failure.isRetryable {
                // The task was cancelled, so whatever the storage reports, a broken connection perhaps, follows from
                // that.
                failure = StorageError(.cancelled, "The upload was stopped.", key: job.key, cause: error)
            } else if failure.code == .cancelled {
                // The task was not cancelled, so this is a failure like others, with a wait before the next try.
                failure = StorageError(.unknown, "The storage gave up by itself.", key: job.key, cause: error)
            }
            return TransferOutcome(job: job, result: policy.result(of: failure, job, sent: sent.count))
        }
    }

    private func check(_ job: TransferJob) async throws -> UploadDecision {
        do {
            return try await journal.check(job)
        } catch {
            throw Self.ofDatabase("The row of the upload could not be read", error, job)
        }
    }

    /// What the journal threw, so that the storage is not blamed for it.
    private static func ofDatabase(_ what: String, _ error: any Error, _ job: TransferJob) -> any Error {
        if error is StorageError || error is CancellationError { return error }
        return StorageError(.databaseFailed, "\(what): \(error)", key: job.key, cause: error)
    }

    private func session(
        _ job: TransferJob, _ checkpoint: UploadCheckpoint?, _ source: UploadSource, _ sent: SentBytes,
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
                // A checkpoint is saved after the storage has taken what it describes, so the storage is there.
                onAccepted()
                do {
                    try await journal.save(envelope.seal(checkpoint), for: job)
                } catch {
                    throw Self.ofDatabase("The state of the upload could not be saved", error, job)
                }
            },
            upcoming: upcoming)
    }

    private func upload(
        _ source: UploadSource, _ job: TransferJob, _ sent: SentBytes, _ session: UploadSession
    ) async throws -> RemoteObject {
        if let limit = storage.capabilities.maximumByteCount, source.byteCount > limit {
            throw StorageError(
                .tooLarge, "The storage takes files of up to \(limit) bytes; this one has \(source.byteCount).",
                key: job.key)
        }
        var object = try await storage.upload(source, to: job.key, session: session)
        sent.report(source.byteCount)
        if object.sha256 == nil, storage.capabilities.proof == .checksum {
            // The storage usually tells a checksum and did not for this file. At least it has to confirm the size.
            object.byteCount = try await storage.head(job.key).byteCount
        }
        try UploadProof.require(object, for: source, job)
        try source.requireUnchanged()
        return object
    }
}

/// Success needs proof: what the storage says it holds has to be what the row describes.
enum UploadProof {
    /// - Throws: ``StorageError/Code/integrity`` when the storage's word does not agree.
    static func require(_ object: RemoteObject, for source: UploadSource, _ job: TransferJob) throws(StorageError) {
        guard object.key == job.key else {
            throw StorageError(.integrity, "The storage stored '\(object.key)' instead.", key: job.key)
        }
        guard object.byteCount == source.byteCount else {
            throw StorageError(
                .integrity, "The storage holds \(object.byteCount) of \(source.byteCount) bytes.", key: job.key)
        }
        if let sha256 = object.sha256, sha256 != source.sha256 {
            throw StorageError(.integrity, "The storage holds other bytes: their SHA-256 differs.", key: job.key)
        }
    }
}
