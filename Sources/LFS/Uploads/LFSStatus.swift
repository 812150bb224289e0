public import Foundation
public import GRDB
import LFSDatabase
import LFSStorage
import LFSSystem

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
    /// Those whose upload was cancelled, of `remote` ones as well whose object was to be made again.
    public var cancelled: Int
    /// The bytes that wait for their upload on this device.
    public var pendingBytes: Int64
    /// Why uploads and deletions wait, if they do: the storage as a whole is away or refuses us. It is what the process
    /// that uploads has found last; nil when the storage is there, or was never asked.
    public var outage: StorageOutage?
    /// Since when uploads fail and none has succeeded, over restarts; nil when the last one did succeed.
    public var failingSince: Date?
    /// What uploads wait for on purpose, if they do: ``LFSManager/holdUploads(because:)``.
    public var hold: UploadHold?

    /// Reads the numbers; works without an open manager.
    ///
    /// - Throws: what GRDB throws, such as for a database without the LFS tables.
    public init(_ db: Database) throws {
        files = try FileTable.count(db)
        remote = try FileTable.remoteCount(db)
        local = files - remote
        failed = try JobTable.count(.failed, db)
        cancelled = try JobTable.count(.cancelled, db)
        pendingBytes = try JobTable.queuedByteCount(db)
        outage = try StorageOutage(noted: db)
        failingSince = try StateTable.failingSince(db).map(Date.init(millisecondsSince1970:))
        hold = try UploadHold(noted: db)
    }
}

/// Why no upload is begun, although nothing is wrong: a condition of the app's is not met.
public struct UploadHold: Hashable, Codable, Sendable {
    /// A few words for a person, such as `waits for mains power`.
    public var reason: String
    /// Since when.
    public var since: Date

    init?(noted db: Database) throws {
        guard let hold = try StateTable.hold(db) else { return nil }
        (reason, since) = (hold.reason, Date(millisecondsSince1970: hold.since))
    }
}

extension StorageOutage {
    /// The one that the database has noted.
    init?(noted db: Database) throws {
        guard let outage = try StateTable.outage(db) else { return nil }
        self.init(
            code: StorageError.Code(rawValue: outage.code), reason: outage.message,
            since: Date(millisecondsSince1970: outage.since))
    }
}

/// What became of the uploads that were waited for.
public struct UploadSummary: Hashable, Sendable {
    /// Uploads that still wait, run or will be tried again; 0 unless the wait timed out.
    public var pending: Int
    /// How many files failed until someone asks for them again.
    public var failed: Int
    /// The first thousand of them; ``Upload`` has all.
    public var failures: [UploadFailure]

    init(_ db: Database) throws {
        pending = try JobTable.count(.queued, db)
        failed = try JobTable.count(.failed, db)
        failures = try JobTable.failures(limit: 1_000, db).map { UploadFailure(try $0.record.get()) }
    }
}

extension UploadFailure {
    fileprivate init(_ failure: JobFailure) {
        self.init(fileID: failure.id, code: StorageError.Code(rawValue: failure.code), reason: failure.message)
    }
}
