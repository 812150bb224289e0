import LFSFiles
import LFSStorage
import LFSTransfer
import Logging

/// Turns what the pool tells into the host's events and log lines.
struct PoolEvents: Sendable {
    let hub: EventHub
    let ledger: CopyLedger
    let logger: Logger

    func handle(_ event: TransferEvent) {
        switch event {
        case .progress(let id, let bytes, let total):
            hub.sendProgress(id, TransferProgress(bytesTransferred: bytes, totalBytes: total))
        case .uploaded(let id, let object):
            hub.endProgress(id)
            if let id = FileID(id) { ledger.allow(id) }
            hub.send(.uploaded(id, url: object.url, byteCount: object.byteCount))
        case .failed(let id, let error, let nextAttempt):
            hub.endProgress(id)
            log(id, error, nextAttempt)
            let failure = UploadFailure(fileID: id, code: error.code, reason: error.message)
            hub.send(.failed(id, failure, nextAttempt: nextAttempt))
        case .reachable(let isReachable, let error):
            logger.debug(isReachable ? "storage reachable" : "storage unreachable, probing")
            hub.send(.storageReachable(isReachable, reason: error?.message))
        case .idle: hub.ringWaiters()
        }
    }

    private func log(_ id: String, _ error: StorageError, _ nextAttempt: Duration?) {
        let metadata: Logger.Metadata = ["lfs.file.id": "\(id)", "error.code": "\(error.code)"]
        if nextAttempt == nil {
            logger.info("upload failed", metadata: metadata)
        } else {
            logger.debug("upload failed, will retry", metadata: metadata)
        }
    }
}
