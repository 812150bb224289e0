import LFSDatabase
import LFSStorage
import LFSTransfer

/// What a row of the queue is to the pool.
extension JobRow {
    /// - Parameters:
    ///   - now: in milliseconds since 1970.
    ///   - changes: as ``TransferJob/Content/changes``, from before it was read.
    func job(now: Int64, changes: UInt64) throws -> TransferJob {
        // A clock that was set back makes the day begin anew.
        let age = sentSince >= 0 && sentSince <= now ? Duration.milliseconds(now - sentSince) : .zero
        return TransferJob(
            id: id, key: try ObjectKey(key), byteCount: byteCount,
            content: .init(
                sha256: sha256, crc64: crc64, contentType: contentType, name: name, readAt: now, changes: changes),
            attempts: attempts,
            lastError: errorCode.map(StorageError.Code.init(rawValue:)),
            sending: SendBudget(byteCount: sentBytes, age: age),
            checkpoint: checkpoint.map(UploadCheckpoint.init(rawValue:)), replacesObject: replacesObject,
            turn: notBefore)
    }

    /// Why no storage takes it; nil for a key as LFS makes them.
    var unusableKey: StorageError? {
        guard ObjectKey.usable(key) == nil else { return nil }
        return StorageError(
            .invalidKey,
            """
            No storage takes its key \(String(reflecting: String(key.prefix(80)))): another program has written the \
            row.
            """)
    }
}

extension ObjectKey {
    /// The key that a text from a row stands for; nil when no storage takes it.
    static func usable(_ text: String) -> ObjectKey? {
        do { return try ObjectKey(text) } catch { return nil }
    }
}
