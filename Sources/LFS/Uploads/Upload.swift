public import Foundation
public import GRDB
import LFSDatabase
public import LFSStorage
public import LFSSystem

/// How the upload of a file stands on this device: a row of `lfs_job`, to be read, joined and observed, never written.
///
/// ```swift
/// struct PhotoInfo: FetchableRecord, Decodable { var file: FileData; var upload: Upload? }
/// let waiting = try FileData.including(optional: FileData.upload).asRequest(of: PhotoInfo.self).fetchAll(db)
/// let cancelled = try Upload.all().cancelled().fetchAll(db)
/// ```
///
/// A file that has none is through, or is another device's to upload. One whose status is `remote` has an upload again
/// when its object was found missing or damaged.
public struct Upload: Identifiable, Hashable, Codable, Sendable {
    /// What becomes of it.
    public enum State: String, Hashable, Codable, CaseIterable, Sendable {
        /// It waits or runs.
        case queued
        /// It was given up, or the file's bytes are known to be lost or damaged. ``LFSManager/retry(_:)`` queues it
        /// again.
        case failed
        /// Somebody has cancelled it. ``LFSManager/retry(_:)`` queues it again.
        case cancelled
    }

    /// The file.
    public let fileID: FileID
    /// What becomes of it.
    public let state: State
    /// The size of the file in bytes.
    public let byteCount: Int64
    /// How often it was tried and failed for a reason of its own.
    public let attempts: Int
    /// When it may be tried, or could have been tried first; nil for one that waits for ``LFSManager/retry(_:)``.
    public let nextAttempt: Date?
    /// What kind of failure the last try ended with; nil when none has failed.
    public let code: StorageError.Code?
    /// A sentence for the person who has to mend it; nil when no try has failed.
    public let reason: String?

    /// The file.
    public var id: FileID { fileID }
}

extension Upload: FetchableRecord, TableRecord {
    /// The table of the uploads.
    public static let databaseTableName = JobTable.name

    /// The columns of `lfs_job` that may be used in requests.
    public enum Columns {
        /// The column of ``Upload/fileID``.
        public static let fileID = Column("fileID")
        /// The column of ``Upload/state``.
        public static let state = Column("state")
        /// The column of ``Upload/byteCount``.
        public static let byteCount = Column("byteCount")
        /// The column of ``Upload/attempts``.
        public static let attempts = Column("attempts")
        /// The column of ``Upload/nextAttempt``, in milliseconds since 1970.
        public static let notBefore = Column("notBefore")
        /// The column of ``Upload/code``.
        public static let errorCode = Column("errorCode")
        /// The column of ``Upload/reason``.
        public static let errorMessage = Column("errorMessage")
    }

    /// What is read of a row.
    public static var databaseSelection: [any SQLSelectable] {
        [
            Columns.fileID, Columns.state, Columns.byteCount, Columns.attempts, Columns.notBefore, Columns.errorCode,
            Columns.errorMessage,
        ]
    }

    /// Reads a row of `lfs_job`.
    ///
    /// - Throws: ``LFSError/Code/invalidRow`` for one that another program has written and that cannot be right.
    public init(row: Row) throws {
        do {
            let checked = CheckedRow(row, of: JobTable.name, name: "fileID")
            fileID = try checked.value("fileID")
            guard let state = State(rawValue: try checked.value("state")) else { throw checked.invalid("state") }
            self.state = state
            byteCount = try checked.number("byteCount", in: 0...Int64.max)
            attempts = try checked.number("attempts", in: 0...Int.max)
            let notBefore: Int64 = try checked.value("notBefore")
            nextAttempt = state == .queued ? Date(millisecondsSince1970: notBefore) : nil
            let code: String? = try checked.value("errorCode")
            self.code = code.map(StorageError.Code.init(rawValue:))
            reason = try checked.value("errorMessage")
        } catch {
            throw LFSError.wrapping(error)
        }
    }
}

extension Upload.State: DatabaseValueConvertible {}

extension FileData {
    /// The upload of a file, if it has one on this device; in a record that joins it, the property `upload`.
    public static let upload = hasOne(Upload.self, key: "upload", using: ForeignKey([Upload.Columns.fileID]))
}

extension DerivableRequest where RowDecoder == Upload {
    /// Uploads that wait or run.
    public func queued() -> Self { filter(Upload.Columns.state == Upload.State.queued) }

    /// Uploads that were given up, and files whose bytes are known to be lost or damaged.
    public func failed() -> Self { filter(Upload.Columns.state == Upload.State.failed) }

    /// Uploads that somebody has cancelled.
    public func cancelled() -> Self { filter(Upload.Columns.state == Upload.State.cancelled) }

    /// The files whose bytes, here or on the storage, an upload, a reader or a verification has found lost or not to be
    /// the recorded ones, and that are not queued again since. ``LFSManager/restore(_:from:onProgress:)`` takes right
    /// bytes for them.
    ///
    /// With those whose object the storage does not have, or has as another one, and that have no right bytes here.
    public func damaged() -> Self {
        let codes = JobTable.codesWithoutRightBytes + [StorageError.Code.sourceChanged.rawValue]
        return failed().filter(codes.contains(Upload.Columns.errorCode))
    }
}
