import Foundation
import GRDB
import LFS
import LFSStorage
import LFSSync

/// Error messages for the person who ran the command.
enum ErrorMessages {
    static func of(_ error: any Error) -> String {
        switch error {
        case let error as UploaderError: error.description
        case let error as LFSError: of(error)
        case let error as StorageError: error.message
        case let error as SyncError where error.code == .unauthorized:
            // The library's advice is for the people of an app.
            error.message.replacing(" The request needs the token of a session.", with: "").replacing(
                "Sign in again.", with: "Set \(SyncArgument.variable) to a token from 'lfs-server session add'.")
        case let error as DatabaseError: of(error)
        case is CancellationError: "it was cancelled"
        case let error as POSIXError: String(cString: strerror(error.code.rawValue))
        case let error as CocoaError:
            // Foundation's message lacks the name of the file.
            (error.filePath.map { "\($0): " } ?? "") + error.localizedDescription
        case let error as any CustomStringConvertible where !(error is NSError): error.description
        // Foundation describes its errors with their domains and dictionaries.
        default: error.localizedDescription
        }
    }

    /// Returns the message with a full stop, for use before another sentence.
    static func sentence(_ error: any Error) -> String { sentence(of(error)) }

    static func sentence(_ words: String) -> String {
        words.last.map(".…?!".contains) == true ? words : words + "."
    }

    private static func of(_ error: LFSError) -> String {
        // The library's message names the function that a programmer has to call.
        if error.code == .notMigrated {
            return
                "the database has the LFS tables of an older version: open it once with the app that it belongs to"
        }
        if error.code == .database, let cause = error.cause as? DatabaseError { return of(cause) }
        if error.code == .noSpace, !DiskSpace.limitWords.isEmpty {
            return forShell(sentence(error.message)) + " Or the file is too large:\(DiskSpace.limitWords)."
        }
        return forShell(error.message)
    }

    /// Returns a message of the library without the parts for programmers.
    static func forShell(_ message: String) -> String {
        message.replacing(
            " (LFSOptions.foreignStore can do that), or put the database back next to its own folder.",
            with: """
                , and keep it until all files are restored, because some may not be uploaded. Or put its own database \
                back next to it; 'uploader recover' restores a lost one from the storage, to another path.
                """
        )
        .replacing(
            " Make room on it, then try again.",
            with: " Free some space, for example with 'uploader free'."
        )
        // Only attached files can be kept on another disk, and the message about them says so.
        .replacing(" Free some space, or keep files on another disk.", with: " Free some space.")
        .replacing(" is evicted", with: " is freed")
        .replacing("The app's database failed:", with: "The database failed:")
    }

    private static func of(_ error: DatabaseError) -> String {
        switch error.resultCode {
        case _ where error.isForWantOfSpace: "the disk that holds the database is full\(DiskSpace.limitWords)"
        case .SQLITE_BUSY, .SQLITE_LOCKED: "another program has locked the database"
        case .SQLITE_IOERR: "the database failed: \(error.message ?? "disk I/O error")\(DiskSpace.limitWords)"
        default: "the database failed: \(error.message ?? "\(error.resultCode)")"
        }
    }
}
