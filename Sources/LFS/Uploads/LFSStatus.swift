import Foundation
public import GRDB
import LFSStorage

/// The state of all files of a database, in numbers.
public struct LFSStatus: Hashable, Codable, Sendable {
    /// All rows of `lfs_file`.
    public var files: Int
    /// Those whose bytes are only on the device that made them.
    public var local: Int
    /// Those on the remote storage.
    public var remote: Int
    /// Those whose upload was given up until someone asks for it again, and those whose bytes are known to be lost.
    public var failed: Int
    /// Those of the local ones whose upload was cancelled.
    public var cancelled: Int
    /// The bytes that wait for their upload on this device.
    public var pendingBytes: Int64
    /// Why uploads and deletions wait, if they do: the storage as a whole is away or refuses us. It is what the process
    /// that uploads has found last; nil when the storage is there, or was never asked.
    public var outage: StorageOutage?

    /// Reads the numbers; works without an open manager.
    public init(_ db: Database) throws {
        let row = try Row.fetchOne(
            db,
            sql: """
                SELECT (SELECT count(*) FROM lfs_file) AS files,
                    (SELECT count(*) FROM lfs_file WHERE status = 'remote') AS remote,
                    (SELECT count(*) FROM lfs_job WHERE state = 'failed') AS failed,
                    (SELECT count(*) FROM lfs_job WHERE state = 'cancelled') AS cancelled,
                    -- A total does not end with an error where a sum is too large, as that of odd rows.
                    (SELECT CAST(total(byteCount) AS INTEGER) FROM lfs_job WHERE state = 'queued') AS pendingBytes
                """)
        files = row?["files"] ?? 0
        remote = row?["remote"] ?? 0
        local = files - remote
        failed = row?["failed"] ?? 0
        cancelled = row?["cancelled"] ?? 0
        pendingBytes = row?["pendingBytes"] ?? 0
        outage = try StorageOutage.current(db)
    }
}

extension StorageOutage {
    static func current(_ db: Database) throws -> StorageOutage? {
        let row = try Row.fetchOne(
            db, sql: "SELECT outageCode, outageMessage, outageSince FROM lfs_state WHERE outageCode IS NOT NULL")
        guard let row, let code = String.fromDatabaseValue(row["outageCode"]) else { return nil }
        return StorageOutage(
            code: StorageError.Code(rawValue: code),
            reason: String.fromDatabaseValue(row["outageMessage"]) ?? "",
            since: Date(millisecondsSince1970: Int64.fromDatabaseValue(row["outageSince"]) ?? 0))
    }
}

/// What became of the uploads that were waited for.
public struct UploadSummary: Hashable, Sendable {
    /// Uploads that still wait, run or will be tried again; 0 unless the wait timed out.
    public var pending: Int
    /// How many files failed until someone asks for them again.
    public var failed: Int
    /// The first thousand of them.
    public var failures: [UploadFailure]

    init(_ db: Database) throws {
        pending = try Int.fetchOne(db, sql: "SELECT count(*) FROM lfs_job WHERE state = 'queued'") ?? 0
        failed = try Int.fetchOne(db, sql: "SELECT count(*) FROM lfs_job WHERE state = 'failed'") ?? 0
        failures = try UploadFailure.fetchAll(db)
    }
}

extension UploadFailure {
    /// The first thousand files whose upload was given up, in the order in which they were made.
    public static func fetchAll(_ db: Database) throws -> [UploadFailure] {
        try Row.fetchAll(
            db,
            sql: "SELECT fileID, errorCode, errorMessage FROM lfs_job WHERE state = 'failed' ORDER BY fileID LIMIT 1000"
        ).map { row in
            let checked = CheckedRow(row: row, table: "lfs_job", name: "fileID")
            return UploadFailure(
                fileID: try checked.value("fileID"), code: .init(rawValue: try checked.value("errorCode") ?? "unknown"),
                reason: try checked.value("errorMessage") ?? "")
        }
    }
}
