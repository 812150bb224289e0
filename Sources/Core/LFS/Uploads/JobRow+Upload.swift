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

    /// Returns the error when no storage accepts the key of the row, or when this database has made the key for another
    /// file. An upload would then replace the object of that file. Nil for a key that LFS has made for this file.
    ///
    /// - Parameter namespace: that of this database.
    func keyError(in namespace: Namespace) -> StorageError? {
        if ObjectKey.usable(key) == nil {
            return StorageError(
                .invalidKey, message: "No storage accepts its key \(shownKey): another program has written the row.")
        }
        if namespace.isOurs(key), key != namespace.key(of: id) {
            return StorageError(
                .invalidKey,
                message: "Its key \(shownKey) is that of another file: another program has written the row.")
        }
        return nil
    }

    private var shownKey: String { String(reflecting: String(key.prefix(80))) }
}

extension ObjectKey {
    /// Returns the key for a text from a row. Nil when no storage accepts it.
    static func usable(_ text: String) -> ObjectKey? {
        do { return try ObjectKey(text) } catch { return nil }
    }
}
