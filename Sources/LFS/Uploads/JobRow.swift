import Foundation
import GRDB
import LFSStorage
import LFSTransfer

/// A row of `lfs_job` with what an upload needs of its `lfs_file`.
struct JobRow: FetchableRecord, Sendable {
    let id: String
    let key: String
    let byteCount: Int64
    let sha256: String
    let contentType: String?
    let name: String?
    let attempts: Int
    let checkpoint: Data?
    let lastErrorCode: String?
    let sentBytes: Int64
    let sentSince: Int64
    let replacesObject: Bool
    let notBefore: Int64

    init(row: Row) throws {
        let checked = CheckedRow(row: row, table: FileData.databaseTableName, name: "fileID")
        id = try checked.value("fileID")
        key = try checked.value("key")
        byteCount = try checked.number("byteCount", in: 0...FileData.largestByteCount)
        sha256 = try checked.value("sha256")
        contentType = try checked.value("contentType")
        name = try checked.value("name")
        attempts = try checked.number("attempts", in: 0...Self.mostAttempts)
        checkpoint = try checked.value("checkpoint")
        lastErrorCode = try checked.value("errorCode")
        sentBytes = try checked.number("sentBytes", in: 0...Self.mostSentBytes)
        sentSince = try checked.value("sentSince")
        replacesObject = try checked.value("replacesObject")
        notBefore = try checked.value("notBefore")
    }

    /// - Parameter now: in milliseconds since 1970.
    func job(now: Int64) throws -> TransferJob {
        // A clock that was set back makes the day begin anew.
        let age = sentSince >= 0 && sentSince <= now ? Duration.milliseconds(now - sentSince) : .zero
        return TransferJob(
            id: id, key: try ObjectKey(key), byteCount: byteCount, attempts: attempts,
            lastError: lastErrorCode.map(StorageError.Code.init(rawValue:)),
            sending: SendBudget(byteCount: sentBytes, age: age),
            checkpoint: checkpoint.map(UploadCheckpoint.init(rawValue:)), replacesObject: replacesObject,
            turn: notBefore)
    }

    /// Why no storage takes it; nil for a key as LFS makes them.
    var unusableKey: StorageError? {
        guard ObjectKey.usable(key) == nil else { return nil }
        return StorageError(
            .invalidKey,
            "No storage takes its key \(String(reflecting: String(key.prefix(80)))): another program has written the row.")
    }

    /// More than a network carries in a day.
    private static let mostSentBytes: Int64 = 1 << 60
    /// More tries than any file has had.
    private static let mostAttempts = 1_000_000_000

    /// The code of a job whose bytes a verification has found nowhere, or damaged everywhere.
    static let lostCode = "lost"
    /// The code of a job whose object has given other bytes than the file's, or none, to who read it.
    static let damagedCode = "damaged"
    /// From this size on a job takes the lane of large files.
    static let largeByteCount = TransferLane.largeByteCount

    private static let columns = """
        SELECT j.fileID, f.key, f.byteCount, f.sha256, f.contentType, f.name, j.attempts, j.checkpoint,
            j.errorCode, j.sentBytes, j.sentSince, j.replacesObject, j.notBefore
        FROM lfs_job j JOIN lfs_file f ON f.id = j.fileID
        """

    /// Jobs whose time has come, the oldest first. Arguments: lane, now, limit.
    static let due = """
        \(columns) WHERE j.state = 'queued' AND j.lane = ? AND j.notBefore <= ?
        ORDER BY j.notBefore, j.fileID LIMIT ?
        """

    /// Jobs whose time is further away than any wait can be. Arguments: lane, the furthest time, limit.
    static let outOfReach = """
        \(columns) WHERE j.state = 'queued' AND j.lane = ? AND j.notBefore > ?
        ORDER BY j.notBefore, j.fileID LIMIT ?
        """

    /// When the next job comes due. Arguments: lane, now, the furthest time.
    static let nextDue = """
        SELECT min(notBefore) FROM lfs_job WHERE state = 'queued' AND lane = ? AND notBefore > ? AND notBefore <= ?
        """
}

extension Date {
    /// A time that does not fit, as a row may have it, is the nearest that does.
    var millisecondsSince1970: Int64 {
        let milliseconds = (timeIntervalSince1970 * 1_000).rounded()
        return Int64(exactly: milliseconds) ?? (milliseconds < 0 ? .min : .max)
    }
}

extension Duration {
    /// Whole milliseconds; what is longer than ten thousand years counts as that, so that times can be added.
    var milliseconds: Int64 {
        let longest: Int64 = 10_000 * 366 * 86_400
        let seconds = min(max(components.seconds, -longest), longest)
        return seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000
    }
}
