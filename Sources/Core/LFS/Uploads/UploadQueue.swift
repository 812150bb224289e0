import Foundation
import LFSDatabase
import LFSSystem
import LFSTransfer

/// The operations of an app on the queue of uploads: observing, waiting and changing it.
struct UploadQueue: Sendable {
    let runner: BackgroundRunner
    let pool: ExecutorPool
    let journal: DatabaseJournal
    let hub: EventHub
    let waiting: RowWait
    let loans: Loans
    let marks: BackupMarks?
    let wallClock: @Sendable () -> Date
    let telemetry: Telemetry

    private var now: Int64 { wallClock().millisecondsSince1970 }

    /// - Parameter isMade: whether the bytes of a file without a row are on this device, so that the row may still be
    ///   inserted.
    func progress(
        of id: FileID, isMade: @Sendable () async throws -> Bool
    ) async throws -> AsyncThrowingStream<TransferProgress, any Error> {
        let (stream, end) = hub.listen(to: id)
        do {
            let row = try await runner.read { db in try FileTable.state(of: id, db) }
            if let row {
                if let ending = row.uploadEnding { end(ending) }
            } else if try await !isMade() {
                throw LFSError(
                    .unknownFile,
                    message: "There is no such file, neither in the database nor in staging.",
                    fileID: id)
            }
            return stream
        } catch {
            // The caller does not get the stream.
            end(.failed(LFSError(wrapping: error, fileID: id)))
            throw error
        }
    }

    func wait(_ timeout: Duration?) async throws -> UploadSummary {
        try await waiting.wait(timeout) { db in try !JobTable.hasQueued(db) }
        return try await runner.read { db in try UploadSummary(db) }
    }

    /// - Parameter ids: nil for all except those whose bytes are recorded as lost or damaged.
    func retry(_ ids: [FileID]?) async throws -> Int {
        let now = now
        let count = try await runner.write { db in
            guard let ids else { return try JobTable.queueAllAgain(now: now, db) }
            return try ids.reduce(0) { try $0 + (JobTable.queueAgain($1, now: now, db) ? 1 : 0) }
        }
        noteChange()
        return count
    }

    /// Queues an upload for a row in either state, unless the row is deleted. For a `remote` row every byte is
    /// uploaded, even if the storage reports the object as correct.
    func queue(_ id: FileID) async throws {
        let now = now
        try await runner.write { db in try JobTable.queue(id, now: now, db) }
        marks?.note(id)
        noteChange()
    }

    func cancel(_ id: FileID) async throws {
        try await runner.write { db in try JobTable.cancel(id, db) }
        journal.noteCancellation()
        pool.cancel(id)
        hub.endProgress(id)
        hub.send(.cancelled(id))
        hub.ringWaiters()
        telemetry.noteQueueChange()
        _ = try await loans.takeBack([id])
    }

    private func noteChange() {
        pool.wake(mayConcernHeld: true)
        telemetry.noteQueueChange()
    }
}

extension RowState {
    /// The end of the upload. Nil while it is queued.
    fileprivate var uploadEnding: EventHub.Termination? {
        switch job {
        case .queued: return nil
        // A row with confirmed bytes may have a job for its damaged object. That is not a failed upload.
        case _ where file.status == .remote: return .complete(byteCount: file.byteCount)
        case .cancelled: return .failed(.uploadCancelled(file.id))
        case .failed:
            return .failed(
                LFSError(
                    .notUploaded, message: errorMessage ?? "The upload failed for an unknown reason.", fileID: file.id))
        case nil:
            return .failed(
                LFSError(
                    .notUploaded, message: "The device that made the file has not uploaded it yet.", fileID: file.id))
        }
    }
}
