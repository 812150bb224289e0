public import Foundation
public import GRDB
import LFSDatabase
public import LFSStorage
public import LFSSystem

/// The state of a file's upload on this device. It is a row of `lfs_job`, to be read, joined and observed, never
/// written.
///
/// ```swift
/// struct PhotoInfo: FetchableRecord, Decodable { var file: FileData; var upload: Upload? }
/// let waiting = try FileData.including(optional: FileData.upload).asRequest(of: PhotoInfo.self).fetchAll(db)
/// let cancelled = try Upload.all().cancelled().fetchAll(db)
/// ```
///
/// A file without a row is uploaded, or another device has to upload it. A `remote` file has an upload again when its
/// object was found missing or damaged.
public struct Upload: Identifiable, Hashable, Codable, Sendable {
    /// The state of an upload.
    public enum State: String, Hashable, Codable, CaseIterable, Sendable {
        /// The upload is pending or running.
        case queued
        /// The upload was given up, or the file's bytes are known to be lost or damaged. ``LFSManager/retry(_:)``
        /// queues it again.
        case failed
        /// The upload was cancelled. ``LFSManager/retry(_:)`` queues it again.
        case cancelled
    }

    /// The file.
    public let fileID: FileID
    /// The state of the upload.
    public let state: State
    /// The size of the file in bytes.
    public let byteCount: Int64
    /// The number of failed attempts. Attempts that failed because the whole storage was unavailable do not count.
    public let attempts: Int
    /// The time of the next attempt, which is in the past if the attempt is due. Nil for an upload that waits for
    /// ``LFSManager/retry(_:)``.
    public let nextAttempt: Date?
    /// The kind of failure of the last attempt. Nil when no attempt has failed.
    public let code: StorageError.Code?
    /// A sentence for the person who has to fix the problem. Nil when no attempt has failed.
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
        package static let state = Column("state")
        /// The column of ``Upload/byteCount``.
        public static let byteCount = Column("byteCount")
        /// The column of ``Upload/attempts``.
        package static let attempts = Column("attempts")
        /// The column of ``Upload/nextAttempt``, in milliseconds since 1970.
        package static let notBefore = Column("notBefore")
        /// The column of ``Upload/code``.
        public static let errorCode = Column("errorCode")
        /// The column of ``Upload/reason``.
        public static let errorMessage = Column("errorMessage")
    }

    /// The columns that are read.
    public static var databaseSelection: [any SQLSelectable] {
        [
            Columns.fileID, Columns.state, Columns.byteCount, Columns.attempts, Columns.notBefore, Columns.errorCode,
            Columns.errorMessage,
        ]
    }

    /// Reads a row of `lfs_job`.
    ///
    /// - Throws: ``LFSError/Code/invalidRow`` when another program has written invalid values into the row.
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
    /// The upload of a file, if it has one on this device. In a record that joins it, the property is `upload`.
    public static let upload = hasOne(Upload.self, key: "upload", using: ForeignKey([Upload.Columns.fileID]))
}

extension DerivableRequest where RowDecoder == Upload {
    /// Uploads that are pending or running.
    public func queued() -> Self { filter(Upload.Columns.state == Upload.State.queued) }

    /// Uploads that were given up, and files whose bytes are known to be lost or damaged.
    public func failed() -> Self { filter(Upload.Columns.state == Upload.State.failed) }

    /// Uploads that were cancelled.
    public func cancelled() -> Self { filter(Upload.Columns.state == Upload.State.cancelled) }

    /// Files whose bytes were found lost or different from the recorded ones, on this device or on the storage, and
    /// that were not queued again since. An upload, a reader or a verification finds them.
    /// ``LFSManager/restore(_:from:onProgress:)`` accepts correct bytes for them.
    ///
    /// This includes files whose object the storage lacks, or has with other bytes, and that have no correct bytes on
    /// this device.
    public func damaged() -> Self {
        let codes = JobTable.codesWithoutRightBytes + [StorageError.Code.sourceChanged.rawValue]
        return failed().filter(codes.contains(Upload.Columns.errorCode))
    }
}
