public import Foundation
public import GRDB
import LFSDatabase
import LFSStorage
import LFSSystem

/// The state of all files of a database, as counts.
public struct LFSStatus: Hashable, Codable, Sendable {
    /// The number of rows of `lfs_file`.
    public var files: Int
    /// The number of files whose bytes are only on the device that made them.
    public var local: Int
    /// The number of files on the remote storage.
    public var remote: Int
    /// The number of files whose upload has failed until it is requested again, or whose object or bytes were found
    /// missing or damaged.
    public var failed: Int
    /// The number of files whose upload was cancelled, including `remote` files whose object should have been uploaded
    /// again.
    public var cancelled: Int
    /// The number of bytes that are pending for upload on this device.
    public var pendingBytes: Int64
    /// The reason why all uploads and deletions are delayed: the whole storage is unreachable or refuses access. It is
    /// the latest result of the process that uploads. Nil when the storage works, or was never contacted.
    public var outage: StorageOutage?
    /// The time since which uploads have failed and none has succeeded, across restarts. Nil when the last upload
    /// succeeded.
    public var failingSince: Date?
    /// The reason why the app holds uploads. Nil when it does not. See ``LFSManager/holdUploads(because:)``.
    public var hold: UploadHold?

    /// Reads the counts. It works without an open manager.
    ///
    /// - Throws: the error of GRDB, for example for a database without the LFS tables.
    public init(_ db: Database) throws {
        files = try FileTable.count(db)
        local = try FileTable.localCount(db)
        remote = files - local
        failed = try JobTable.count(.failed, db)
        cancelled = try JobTable.count(.cancelled, db)
        pendingBytes = try JobTable.queuedByteCount(db)
        outage = try StorageOutage(noted: db)
        failingSince = try StateTable.failingSince(db).map(Date.init(millisecondsSince1970:))
        hold = try UploadHold(noted: db)
    }
}

/// The reason why no upload starts although nothing is wrong: a condition of the app is not met.
public struct UploadHold: Hashable, Codable, Sendable {
    /// A few words for a person, such as `waits for mains power`.
    public var reason: String
    /// The start of the hold.
    public var since: Date

    init?(noted db: Database) throws {
        guard let hold = try StateTable.hold(db) else { return nil }
        reason = hold.reason
        since = Date(millisecondsSince1970: hold.since)
    }
}

extension StorageOutage {
    /// Reads the recorded outage of the database.
    init?(noted db: Database) throws {
        guard let outage = try StateTable.outage(db) else { return nil }
        self.init(
            code: StorageError.Code(rawValue: outage.code), reason: outage.message,
            since: Date(millisecondsSince1970: outage.since))
    }
}

/// The results of the uploads that were waited for.
public struct UploadSummary: Hashable, Sendable {
    /// The number of uploads that are pending, running or due for a retry. 0 unless the wait timed out.
    public var pending: Int
    /// The number of files whose upload has failed until it is requested again.
    public var failed: Int
    /// The first thousand failures. ``Upload`` has all.
    public var failures: [UploadFailure]

    init(_ db: Database) throws {
        pending = try JobTable.queuedCount(db)
        failed = try JobTable.count(.failed, db)
        // A row with an unreadable id belongs to no file.
        failures = try JobTable.failures(limit: 1_000, db).compactMap(\.readable).map(UploadFailure.init)
    }
}

extension UploadFailure {
    fileprivate init(_ failure: JobFailure) {
        self.init(fileID: failure.id, code: StorageError.Code(rawValue: failure.code), reason: failure.message)
    }
}
