public import Foundation
import GRDB
import LFSDatabase
import LFSFiles
import LFSStorage
public import LFSSystem

/// Why LFS could not do what it was asked.
public struct LFSError: LocalizedError, Sendable, CustomStringConvertible {
    /// The kind of failure. More kinds may come, so a `switch` needs a `default`.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The code as text, as it is stored and logged.
        public let rawValue: String
        /// A code from its text.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The code's text.
        public var description: String { rawValue }

        // MARK: Taking bytes in

        /// The disk or the quota is full.
        public static let noSpace = Code(rawValue: "noSpace")
        /// A file or a folder may not be read or written.
        public static let permissionDenied = Code(rawValue: "permissionDenied")
        /// A folder is on a read-only file system, or the connection to the database cannot write. ``LFSReader`` reads
        /// files through such a connection.
        public static let readOnly = Code(rawValue: "readOnly")
        /// A file or a folder does not exist.
        public static let missing = Code(rawValue: "missing")
        /// A folder that was used before, and may have the bytes, is not there: an unmounted disk.
        public static let folderAbsent = Code(rawValue: "folderAbsent")
        /// The source is a folder, a link or a device.
        public static let notAFile = Code(rawValue: "notAFile")
        /// The source changed while it was read, or the bytes are not the recorded ones.
        public static let sourceChanged = Code(rawValue: "sourceChanged")
        /// The source of the bytes failed.
        public static let sourceFailed = Code(rawValue: "sourceFailed")
        /// The task was cancelled.
        public static let cancelled = Code(rawValue: "cancelled")
        /// The system reported something else.
        public static let system = Code(rawValue: "system")

        // MARK: Opening

        /// The database has no LFS tables yet, or those of an older version.
        public static let notMigrated = Code(rawValue: "notMigrated")
        /// The database was written by a newer version of LFS.
        public static let newerSchema = Code(rawValue: "newerSchema")
        /// The database is in memory and no local store was given.
        public static let noLocalStore = Code(rawValue: "noLocalStore")
        /// The folder beside the database belongs to another one.
        public static let wrongStore = Code(rawValue: "wrongStore")
        /// A table cannot own files as it is, or has lost the triggers of LFS.
        public static let unsuitableOwner = Code(rawValue: "unsuitableOwner")
        /// This connection has a manager already.
        public static let alreadyOpen = Code(rawValue: "alreadyOpen")

        /// The connection to the app's database was closed.
        public static let closed = Code(rawValue: "closed")

        // MARK: Using

        /// The manager was stopped, or has not been started.
        public static let notRunning = Code(rawValue: "notRunning")
        /// There is no such file in the database.
        public static let unknownFile = Code(rawValue: "unknownFile")
        /// The file was made here, but its bytes are nowhere on this device.
        public static let bytesMissing = Code(rawValue: "bytesMissing")
        /// The file was deleted, and its bytes are being removed: make a new one. Once they are gone a row with its id
        /// can be inserted again, and has no bytes anywhere.
        public static let deleted = Code(rawValue: "deleted")
        /// The upload of the file is not proven yet, so its local bytes have to stay.
        public static let notUploaded = Code(rawValue: "notUploaded")
        /// The file is pinned, so its local bytes have to stay.
        public static let pinned = Code(rawValue: "pinned")
        /// A row has a value that no row of LFS can have; another program has written it.
        public static let invalidRow = Code(rawValue: "invalidRow")
        /// Another process has the database open.
        public static let openElsewhere = Code(rawValue: "openElsewhere")
        /// Nothing of what the rows say is on the remote storage: it is another one, or empty.
        public static let wrongStorage = Code(rawValue: "wrongStorage")
        /// The app's database could not be read or written; ``LFSError/cause`` is its error.
        public static let database = Code(rawValue: "database")
        /// The remote storage failed; ``LFSError/cause`` is its `StorageError`.
        public static let storage = Code(rawValue: "storage")
    }

    /// What kind of failure it is.
    public let code: Code
    /// What happened and what to do about it.
    public let message: String
    /// The file that it was about.
    public let fileID: FileID?
    /// The error below this one, if there is one.
    public let cause: (any Error)?

    /// An error as tests and previews of an app make it.
    ///
    /// - Parameters:
    ///   - code: what kind of failure it is.
    ///   - message: what happened and what to do about it.
    ///   - fileID: the file that it was about, if it was about one.
    ///   - cause: the error below this one, if there is one.
    public init(_ code: Code, _ message: String, fileID: FileID? = nil, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.fileID = fileID
        self.cause = cause
    }

    /// The message.
    public var description: String { message }

    /// The same as ``description``, for alerts.
    public var errorDescription: String? { description }

    /// A sentence on what a person can do, where the code alone names it.
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

    /// Whether what was asked for is not there, and asking again will not help: no row has the file, its bytes are lost
    /// on this device, which made it, or the storage has no object for it.
    public var isMissing: Bool {
        switch code {
        case .unknownFile, .bytesMissing, .deleted: true
        default: (cause as? StorageError)?.isMissing == true
        }
    }
}

extension LFSError {
    /// Runs the body; what it throws is thrown in this module's words.
    static func catching<Result>(
        about fileID: FileID? = nil, _ body: () async throws -> Result
    ) async throws -> Result {
        do { return try await body() } catch { throw wrapping(error, fileID: fileID) }
    }

    static func unknown(_ id: FileID) -> LFSError {
        LFSError(.unknownFile, "There is no file '\(id)' in the database.", fileID: id)
    }

    /// Errors from the layers below in this module's words; others pass unchanged.
    static func wrapping(_ error: any Error, fileID: FileID? = nil) -> any Error {
        switch error {
        case let error as FileError: LFSError(error, fileID: fileID)
        case let error as SystemError: wrapping(FileError.wrapping(error), fileID: fileID)
        case let error as StorageError:
            LFSError(.storage, error.message, fileID: fileID, cause: error)
        case let error as TableError: LFSError(error, fileID: fileID)
        case let error as RowDecodingError:
            LFSError(.invalidRow, "A row of LFS cannot be read: \(error)", fileID: fileID, cause: error)
        case is CancellationError:
            LFSError(.cancelled, "The task was cancelled.", fileID: fileID, cause: error)
        default: error
        }
    }

    init(_ error: FileError, fileID: FileID? = nil) {
        self.init(Code(rawValue: error.code.rawValue), error.message, fileID: fileID, cause: error.cause)
    }

    init(_ error: TableError, fileID: FileID? = nil) {
        self.init(
            Code(rawValue: error.code.rawValue), error.message, fileID: error.fileID ?? fileID, cause: error.cause)
    }

    /// As ``wrapping(_:fileID:)``, for where nothing but this type will do.
    init(wrapping error: any Error, fileID: FileID) {
        self =
            Self.wrapping(error, fileID: fileID) as? LFSError
            ?? LFSError(.system, "\(error)", fileID: fileID, cause: error)
    }

    /// What the background work met in the app's database.
    init(ofDatabase error: any Error) {
        self.init(.database, "The app's database failed: \(error)", cause: error)
    }

    /// The refusal behind a database error, nil if it was not one of ours.
    init?(refusalOf id: FileID, _ error: DatabaseError) {
        guard let refusal = InsertRefusal.allCases.first(where: { error.message == $0.message }) else { return nil }
        self.init(refusal == .noBytes ? .bytesMissing : .deleted, refusal.message, fileID: id, cause: error)
    }
}
