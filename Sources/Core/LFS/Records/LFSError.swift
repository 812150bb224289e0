public import Foundation
import GRDB
import LFSDatabase
import LFSFiles
import LFSStorage
public import LFSSystem

/// An error of LFS, with its cause and a message on how to fix it.
public struct LFSError: LocalizedError, Sendable, CustomStringConvertible {
    /// The kind of failure. Later versions may add kinds, so a `switch` needs a `default`.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The code as text, as it is stored and logged.
        public let rawValue: String
        /// A code from its text.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The code's text.
        public var description: String { rawValue }

        // MARK: Making files

        /// The disk or the quota is full.
        public static let noSpace = Code(rawValue: "noSpace")
        /// The permissions of a file or a folder do not allow reading or writing it.
        public static let permissionDenied = Code(rawValue: "permissionDenied")
        /// A folder is on a read-only file system, or the connection to the database cannot write. ``LFSReader`` reads
        /// files through such a connection.
        public static let readOnly = Code(rawValue: "readOnly")
        /// A file or a folder does not exist.
        public static let missing = Code(rawValue: "missing")
        /// A folder that was used before and may have the bytes does not exist now, for example on an unmounted disk.
        public static let folderAbsent = Code(rawValue: "folderAbsent")
        /// The source is a folder, a link or a device.
        public static let notAFile = Code(rawValue: "notAFile")
        /// The source changed while it was read, or the bytes are not the recorded ones.
        public static let sourceChanged = Code(rawValue: "sourceChanged")
        /// The source of the bytes failed.
        public static let sourceFailed = Code(rawValue: "sourceFailed")
        /// The task was cancelled.
        public static let cancelled = Code(rawValue: "cancelled")
        /// The system reported another error.
        public static let system = Code(rawValue: "system")

        // MARK: Opening

        /// The database has no LFS tables yet, or those of an older version.
        public static let notMigrated = Code(rawValue: "notMigrated")
        /// The database was written by a newer version of LFS.
        public static let newerSchema = Code(rawValue: "newerSchema")
        /// The database is in memory and no local store was given.
        public static let noLocalStore = Code(rawValue: "noLocalStore")
        /// The folder of the local store belongs to another database.
        public static let wrongStore = Code(rawValue: "wrongStore")
        /// A table cannot own files in its present form, or has lost the triggers of LFS.
        public static let unsuitableOwner = Code(rawValue: "unsuitableOwner")
        /// This connection already has a manager.
        public static let alreadyOpen = Code(rawValue: "alreadyOpen")

        /// The connection to the app's database was closed.
        public static let closed = Code(rawValue: "closed")

        // MARK: Using

        /// The manager was stopped, or has not been started.
        public static let notRunning = Code(rawValue: "notRunning")
        /// The manager is suspended, or the connection to the database is.
        public static let suspended = Code(rawValue: "suspended")
        /// The database has no such file.
        public static let unknownFile = Code(rawValue: "unknownFile")
        /// This device made the file, but no longer has its bytes.
        public static let bytesMissing = Code(rawValue: "bytesMissing")
        /// The file was deleted, and its bytes are being removed. Make a new file instead. After the removal a row with
        /// the id can be inserted again, but no bytes exist for it.
        public static let deleted = Code(rawValue: "deleted")
        /// The upload of the file is not proven yet, so its local bytes must be kept.
        public static let notUploaded = Code(rawValue: "notUploaded")
        /// The file is pinned, so its local bytes must be kept.
        public static let pinned = Code(rawValue: "pinned")
        /// A row has a value that LFS never writes. Another program has written it.
        public static let invalidRow = Code(rawValue: "invalidRow")
        /// Another process has the database open.
        public static let openElsewhere = Code(rawValue: "openElsewhere")
        /// None of the rows' files is on the remote storage. It is another storage, or it is empty.
        public static let wrongStorage = Code(rawValue: "wrongStorage")
        /// The app's database could not be read or written. ``LFSError/cause`` is its error.
        public static let database = Code(rawValue: "database")
        /// The remote storage failed. ``LFSError/cause`` is its `StorageError`.
        public static let storage = Code(rawValue: "storage")
    }

    /// The kind of failure.
    public let code: Code
    /// The description of the failure and how to fix it.
    public let message: String
    /// The affected file, if the error concerns one.
    public let fileID: FileID?
    /// The underlying error, if there is one.
    public let cause: (any Error)?

    /// Creates an error for tests and previews of an app.
    ///
    /// - Parameters:
    ///   - code: the kind of failure.
    ///   - message: the description of the failure and how to fix it.
    ///   - fileID: the affected file, if the error concerns one.
    ///   - cause: the underlying error, if there is one.
    public init(_ code: Code, message: String, fileID: FileID? = nil, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.fileID = fileID
        self.cause = cause
    }

    /// The message.
    public var description: String { message }

    /// The same as ``description``, for alerts.
    public var errorDescription: String? { description }

    /// A sentence on how a person can fix the problem, for codes that imply it.
    public var recoverySuggestion: String? {
        switch code {
        case .noSpace: "Make room on the disk, then try again."
        case .permissionDenied: "Allow the app to use the folder, then try again."
        case .folderAbsent: "Connect or mount the disk, then try again."
        case .openElsewhere: "Close the app that uses the database, then try again."
        case .newerSchema: "Update the app."
        case .storage: (cause as? StorageError)?.recoverySuggestion
        default: nil
        }
    }

    /// True if the requested file does not exist, so that a retry cannot help. No row has the file, its bytes are lost
    /// on this device, which made it, or the storage has no object for it.
    public var isMissing: Bool {
        switch code {
        case .unknownFile, .bytesMissing, .deleted: true
        default: (cause as? StorageError)?.isMissing == true
        }
    }
}

extension LFSError {
    /// Runs the body and converts its errors into this module's errors.
    static func catching<Result>(
        about fileID: FileID? = nil, _ body: () async throws -> Result
    ) async throws -> Result {
        do { return try await body() } catch { throw wrapping(error, fileID: fileID) }
    }

    /// - Parameter purpose: the purpose of the refused call, as an infinitive.
    static func suspended(_ purpose: String) -> LFSError {
        LFSError(
            .suspended, message: "The LFSManager is suspended. Call resumeFromSuspension() before you \(purpose).")
    }

    /// - Parameter purpose: the purpose of the refused call, as an infinitive.
    static func stopped(_ purpose: String) -> LFSError {
        LFSError(.notRunning, message: "The LFSManager was stopped. Open another one to \(purpose).")
    }

    static func unknown(_ id: FileID) -> LFSError {
        LFSError(.unknownFile, message: "There is no file '\(id)' in the database.", fileID: id)
    }

    /// Converts errors of the layers below into this module's errors. Other errors are unchanged.
    static func wrapping(_ error: any Error, fileID: FileID? = nil) -> any Error {
        switch error {
        case let error as FileError: LFSError(error, fileID: fileID)
        case let error as SystemError: wrapping(FileError.wrapping(error), fileID: fileID)
        case let error as StorageError:
            LFSError(.storage, message: error.message, fileID: fileID, cause: error)
        case let error as TableError: LFSError(error, fileID: fileID)
        case let error as RowDecodingError:
            LFSError(.invalidRow, message: "A row of LFS cannot be read: \(error)", fileID: fileID, cause: error)
        case is CancellationError:
            LFSError(.cancelled, message: "The task was cancelled.", fileID: fileID, cause: error)
        default: error
        }
    }

    init(_ error: FileError, fileID: FileID? = nil) {
        self.init(Code(rawValue: error.code.rawValue), message: error.message, fileID: fileID, cause: error.cause)
    }

    init(_ error: TableError, fileID: FileID? = nil) {
        self.init(
            Code(rawValue: error.code.rawValue), message: error.message, fileID: error.fileID ?? fileID,
            cause: error.cause)
    }

    /// Converts an error as ``wrapping(_:fileID:)`` does, where only this type is possible.
    init(wrapping error: any Error, fileID: FileID) {
        self =
            Self.wrapping(error, fileID: fileID) as? LFSError
            ?? LFSError(.system, message: "\(error)", fileID: fileID, cause: error)
    }

    /// Creates the error of the background work for a failure of the app's database.
    init(ofDatabase error: any Error) {
        self.init(.database, message: "The app's database failed: \(error)", cause: error)
    }

    /// Creates the error for a refusal by a trigger of LFS. Nil for any other database error.
    init?(refusalOf id: FileID, _ error: DatabaseError) {
        guard let refusal = InsertRefusal.allCases.first(where: { error.message == $0.message }) else { return nil }
        self.init(refusal == .noBytes ? .bytesMissing : .deleted, message: refusal.message, fileID: id, cause: error)
    }
}
