import Foundation
import LFSStorage
import LFSSystem
import LFSTransfer
import Logging

/// The conversion of the pool's events into events and log lines of the manager.
struct PoolEvents: Sendable {
    let hub: EventHub
    let ledger: LocalCopyIndex
    let marks: BackupMarks?
    let logger: Logger
    let wallClock: @Sendable () -> Date
    /// Notifies deletions, which wait for the storage as well.
    let tombstones: Signal
    let telemetry: Telemetry

    func handle(_ event: TransferEvent) {
        switch event {
        case .progress(let id, let bytes, let total):
            hub.sendProgress(id, progress: TransferProgress(bytesTransferred: bytes, totalBytes: total))
        case .uploaded(let id, let object):
            hub.endProgress(id)
            ledger.allow(id)
            marks?.note(id)
            hub.send(.uploaded(id, url: object.url, byteCount: object.byteCount))
            telemetry.noteQueueChange()
        case .discarded(let id):
            // The deletion reports the end of the file.
            hub.endProgress(id)
            telemetry.noteQueueChange()
        case .failed(let id, let error, let nextAttempt):
            hub.endProgress(id)
            log(id, error: error, nextAttempt: nextAttempt)
            let failure = UploadFailure(fileID: id, code: error.code, reason: error.message)
            hub.send(.failed(id, failure, nextAttempt: nextAttempt))
            if nextAttempt != nil { telemetry.noteRetry(after: error) }
            telemetry.noteQueueChange()
        case .outage(let error):
            tell(error)
            tombstones.notify()
            // A call that waits for deletions does not wait for the end of an outage.
            hub.ringWaiters()
        case .probeIsDue: tombstones.notify()
        case .journalFailed(let error):
            logger.info("upload queue failed, will retry", metadata: ["error.message": "\(error)"])
            hub.send(.databaseFailed(LFSError(ofDatabase: error)))
        case .idle:
            hub.ringWaiters()
            telemetry.noteQueueChange()
        }
    }

    private func tell(_ error: StorageError?) {
        guard let error else {
            logger.info("storage is available again")
            return hub.send(.outage(nil))
        }
        logger.info(
            error.code == .unreachable ? "storage is unreachable, probing" : "storage refuses requests, probing",
            metadata: ["error.code": "\(error.code)", "error.message": "\(error.message)"])
        hub.send(.outage(StorageOutage(code: error.code, reason: error.message, since: wallClock())))
    }

    private func log(_ id: FileID, error: StorageError, nextAttempt: Duration?) {
        let metadata: Logger.Metadata = [
            "lfs.file.id": "\(id)", "error.code": "\(error.code)", "error.message": "\(error.message)",
        ]
        if nextAttempt == nil {
            logger.info("upload failed", metadata: metadata)
        } else {
            logger.debug("upload failed, will retry", metadata: metadata)
        }
    }
}
