import LFSStorage
import Synchronization

/// Carries out one job: ask, upload, require proof, say how it ended. It never throws and always ends in an outcome.
struct Executor: Sendable {
    let storage: any RemoteStorage
    let journal: any TransferJournal
    let policy: RetryPolicy
    let events: @Sendable (TransferEvent) -> Void

    func run(_ job: TransferJob) async -> TransferOutcome {
        do {
            switch try await journal.check(job) {
            case .skip(let reason): return TransferOutcome(job: job, result: .skipped(reason))
            case .fail(let error): return TransferOutcome(job: job, result: .failed(error))
            case .upload(let source): return TransferOutcome(job: job, result: .uploaded(try await upload(source, job)))
            }
        } catch {
            var failure = StorageError(wrapping: error, key: job.key)
            if Task.isCancelled, failure.isRetryable {
                // A storage may report its own broken pipe first; what happened is that we were told to stop.
                failure = StorageError(.cancelled, "The upload was stopped.", key: job.key, cause: error)
            } else if failure.code == .cancelled {
                // Nobody told it to stop, so it is a failure like others, with a wait before the next try.
                failure = StorageError(.unknown, "The storage gave up by itself.", key: job.key, cause: error)
            }
            return TransferOutcome(job: job, result: policy.result(of: failure, job))
        }
    }

    private func upload(_ source: UploadSource, _ job: TransferJob) async throws -> RemoteObject {
        if let limit = storage.capabilities.maximumByteCount, source.byteCount > limit {
            throw StorageError(
                .tooLarge, "The storage takes files of up to \(limit) bytes; this one has \(source.byteCount).",
                key: job.key)
        }
        let events = events
        let journal = journal
        let session = UploadSession(
            checkpoint: job.checkpoint,
            onProgress: { bytes in
                events(.progress(id: job.id, bytesTransferred: bytes, totalBytes: source.byteCount))
            },
            onSave: { checkpoint in try await journal.save(checkpoint, for: job) })
        var object = try await storage.upload(source, to: job.key, session: session)
        if object.sha256 == nil, storage.capabilities.proof == .checksum {
            // The storage checks checksums but did not say so for this one: its word on the size has to do.
            object.byteCount = try await storage.head(job.key).byteCount
        }
        try UploadProof.require(object, for: source, job)
        try source.requireUnchanged()
        return object
    }
}
