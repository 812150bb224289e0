public import Foundation
public import LFSStorage
public import LFSSystem

/// An event about a file, sent after the change is durable.
///
/// Use events for display only. The rows are the source of truth.
///
/// Later versions may add cases. The compiler therefore asks a `switch` of another package for an `@unknown default`.
#if hasAttribute(nonexhaustive)
@nonexhaustive
#endif
public enum LFSEvent: Sendable {
    /// The file's row was committed, and its bytes are in the local store.
    case queued(FileID)
    /// An upload has progressed. It is sent at most about ten times a second per file, and not for files that finish at
    /// once.
    case progress(FileID, TransferProgress)
    /// The upload is proven and the row's status is `remote`.
    case uploaded(FileID, url: URL, byteCount: Int64)
    /// An attempt failed. The next attempt follows automatically after `nextAttempt`. Nil means that the upload waits
    /// for ``LFSManager/retry(_:)``.
    case failed(FileID, UploadFailure, nextAttempt: Duration?)
    /// The upload was cancelled. It waits for ``LFSManager/retry(_:)``.
    case cancelled(FileID)
    /// A download has progressed. It is sent at most about ten times a second per file, and not for files that finish
    /// at once.
    case downloading(FileID, TransferProgress)
    /// The file was downloaded and checked, and is on this device now.
    case downloaded(FileID, byteCount: Int64)
    /// A download ended without the file. It is retried when the file is requested again.
    case downloadFailed(FileID, LFSError)
    /// Uploads and deletions are delayed, because the whole storage is unreachable, refuses access or fails. Single
    /// attempts find out when it works again. Nil means that they continue. A changed reason is sent again.
    ///
    /// An outage is not a failure of any file, and no file is reported as failed.
    case outage(StorageOutage?)
    /// The background work could not read or write the app's database. It retries automatically.
    case databaseFailed(LFSError)
    /// The file's row was deleted, and now its local bytes and its object are removed too. After a deletion on another
    /// device, that device removes the object.
    case removed(FileID)
}

/// The progress of an upload or a download.
public struct TransferProgress: Hashable, Sendable {
    /// The bytes transferred so far, including those of earlier attempts.
    public var bytesTransferred: Int64
    /// The size of the file in bytes.
    public var totalBytes: Int64

    /// Creates progress for tests and previews of an app. The manager sends its own with ``LFSEvent``.
    ///
    /// - Parameters:
    ///   - bytesTransferred: the bytes transferred so far.
    ///   - totalBytes: the size of the file in bytes.
    public init(bytesTransferred: Int64, totalBytes: Int64) {
        self.bytesTransferred = bytesTransferred
        self.totalBytes = totalBytes
    }

    /// The fraction from 0 to 1. An empty file is complete.
    public var fractionCompleted: Double {
        totalBytes > 0 ? Double(bytesTransferred) / Double(totalBytes) : 1
    }
}

/// An outage of the whole remote storage, with its reason.
public struct StorageOutage: Hashable, Codable, Sendable {
    /// The kind of failure: `unreachable`, `unauthorized`, `misconfigured`, `forbidden`, or a code with which every
    /// upload fails.
    public var code: StorageError.Code
    /// A sentence for the person who has to fix the problem.
    public var reason: String
    /// The start of the outage, as far as it is known.
    public var since: Date

    /// Creates an outage for tests and previews of an app. The manager sends its own with ``LFSEvent/outage(_:)``.
    ///
    /// - Parameters:
    ///   - code: the kind of failure.
    ///   - reason: a sentence for the person who has to fix the problem.
    ///   - since: the start of the outage.
    public init(code: StorageError.Code, reason: String, since: Date) {
        self.code = code
        self.reason = reason
        self.since = since
    }
}

/// The reason why a file was not uploaded.
public struct UploadFailure: Hashable, Sendable {
    /// The file that is not uploaded.
    public var fileID: FileID
    /// The kind of failure.
    public var code: StorageError.Code
    /// A sentence for the person who has to fix the problem.
    public var reason: String

    /// Creates a failure for tests and previews of an app. ``Upload`` reads those of the database.
    ///
    /// - Parameters:
    ///   - fileID: the file that is not uploaded.
    ///   - code: the kind of failure.
    ///   - reason: a sentence for the person who has to fix the problem.
    public init(fileID: FileID, code: StorageError.Code, reason: String) {
        self.fileID = fileID
        self.code = code
        self.reason = reason
    }
}
