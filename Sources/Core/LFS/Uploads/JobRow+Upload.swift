import LFSDatabase
import LFSStorage
import LFSSystem
import LFSTransfer

/// Conversion of a row of the queue into a job of the pool.
extension JobRow {
    /// - Parameters:
    ///   - now: in milliseconds since 1970.
    ///   - changes: as ``TransferJob/Content/changes``, from before the row was read.
    func job(now: Int64, changes: UInt64) throws -> TransferJob {
        // If the clock was set back, the day of the send budget starts again.
        let age = sentSince >= 0 && sentSince <= now ? Duration.milliseconds(now - sentSince) : .zero
        return TransferJob(
            id: id, key: try ObjectKey(key), byteCount: byteCount,
            content: .init(
                sha256: sha256, crc64: crc64, contentType: contentType, name: name,
                original: original.map(OriginalFile.init), readAt: now, changes: changes),
            attempts: attempts,
            lastError: errorCode.map(StorageError.Code.init(rawValue:)),
            sending: SendBudget(byteCount: sentBytes, age: age),
            checkpoint: checkpoint.map(UploadCheckpoint.init(rawValue:)), replacesObject: replacesObject,
            turn: notBefore)
    }

    /// The error when no storage accepts the key of the row. Nil for a key that LFS has made.
    var unusableKey: StorageError? {
        guard ObjectKey.usable(key) == nil else { return nil }
        return StorageError(
            .invalidKey,
            message: """
                No storage accepts its key \(String(reflecting: String(key.prefix(80)))): another program has written \
                the row.
                """)
    }
}

extension ObjectKey {
    /// Returns the key for a text from a row. Nil when no storage accepts it.
    static func usable(_ text: String) -> ObjectKey? {
        do { return try ObjectKey(text) } catch { return nil }
    }
}
