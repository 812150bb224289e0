public import Foundation
public import LFSStorage
public import LFSSystem

/// Something that happened to a file, after it is durable. Events are for showing; the rows are the truth.
///
/// More cases may come, so a `switch` of another package needs an `@unknown default`, which the compiler asks for.
#if hasAttribute(nonexhaustive)
@nonexhaustive
#endif
public enum LFSEvent: Sendable {
    /// The file's row was committed, and its bytes are in the local store.
    case queued(FileID)
    /// An upload advances. At most about ten a second for each file, and none for files that are through at once.
    case progress(FileID, TransferProgress)
    /// The upload is proven and the row says `remote`.
    case uploaded(FileID, url: URL, byteCount: Int64)
    /// A try failed. The next one follows by itself after `nextAttempt`; nil means that it waits for
    /// ``LFSManager/retry(_:)``.
    case failed(FileID, UploadFailure, nextAttempt: Duration?)
    /// The upload was cancelled. It waits for ``LFSManager/retry(_:)``.
    case cancelled(FileID)
    /// A download advances. At most about ten a second for each file, and none for files that are through at once.
    case downloading(FileID, TransferProgress)
    /// The file was fetched and checked, and is on this device now.
    case downloaded(FileID, byteCount: Int64)
    /// A download ended without the file. It is tried again when somebody asks for the file again.
    case downloadFailed(FileID, LFSError)
    /// Uploads and deletions wait, because the remote storage as a whole is away, refuses us or fails: one try at a
    /// time finds out when that is over. Nil: they go on. A reason that changes is told again.
    ///
    /// No file is to blame and none is told to have failed.
    case outage(StorageOutage?)
    /// The background work could not read or write the app's database; it tries again by itself.
    case databaseFailed(LFSError)
    /// The file's row was deleted before, and now its bytes are gone here and on the remote storage; a deletion that
    /// came from another device leaves the object to that one.
    case removed(FileID)
}

/// How far an upload or a download is.
public struct TransferProgress: Hashable, Sendable {
    /// The bytes that have arrived so far, those of earlier tries included.
    public var bytesTransferred: Int64
    /// The size of the file in bytes.
    public var totalBytes: Int64

    /// Progress as tests and previews of an app make it; the manager's own comes with ``LFSEvent``.
    ///
    /// - Parameters:
    ///   - bytesTransferred: the bytes that have arrived so far.
    ///   - totalBytes: the size of the file in bytes.
    public init(bytesTransferred: Int64, totalBytes: Int64) {
        self.bytesTransferred = bytesTransferred
        self.totalBytes = totalBytes
    }

    /// From 0 to 1; an empty file is complete.
    public var fractionCompleted: Double {
        totalBytes > 0 ? Double(bytesTransferred) / Double(totalBytes) : 1
    }
}

/// Why the remote storage as a whole is of no use now.
public struct StorageOutage: Hashable, Codable, Sendable {
    /// What kind of failure it is: `unreachable`, `unauthorized`, `misconfigured`, `forbidden`, or one that every
    /// upload ends with.
    public var code: StorageError.Code
    /// A sentence for the person who has to mend it.
    public var reason: String
    /// When it began, as far as is known.
    public var since: Date

    /// An outage as tests and previews of an app make it; the manager's own comes with ``LFSEvent/outage(_:)``.
    ///
    /// - Parameters:
    ///   - code: what kind of failure it is.
    ///   - reason: a sentence for the person who has to mend it.
    ///   - since: when it began.
    public init(code: StorageError.Code, reason: String, since: Date) {
        self.code = code
        self.reason = reason
        self.since = since
    }
}

/// Why a file is not uploaded.
public struct UploadFailure: Hashable, Sendable {
    /// The file that is not uploaded.
    public var fileID: FileID
    /// What kind of failure it was.
    public var code: StorageError.Code
    /// A sentence for the person who has to mend it.
    public var reason: String

    /// A failure as tests and previews of an app make it; ``Upload`` reads those of the database.
    ///
    /// - Parameters:
    ///   - fileID: the file that is not uploaded.
    ///   - code: what kind of failure it was.
    ///   - reason: a sentence for the person who has to mend it.
    public init(fileID: FileID, code: StorageError.Code, reason: String) {
        self.fileID = fileID
        self.code = code
        self.reason = reason
    }
}
