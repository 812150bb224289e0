import Foundation
import GRDB
import LFS
import LFSStorage

/// Errors in words for the person who ran the command.
enum Words {
    static func of(_ error: any Error) -> String {
        switch error {
        case let error as UploaderError: error.description
        case let error as LFSError: of(error)
        case let error as StorageError: error.message
        case let error as DatabaseError: of(error)
        case is CancellationError: "it was cancelled"
        case let error as POSIXError: String(cString: strerror(error.code.rawValue))
        case let error as CocoaError:
            // Foundation says what is wrong, and not with which file.
            (error.filePath.map { "\($0): " } ?? "") + error.localizedDescription
        case let error as any CustomStringConvertible where !(error is NSError): error.description
        // Foundation describes its errors with their domains and dictionaries.
        default: error.localizedDescription
        }
    }

    /// The same with a full stop, for one that more follows.
    static func sentence(_ error: any Error) -> String { sentence(of(error)) }

    static func sentence(_ words: String) -> String {
        words.last.map(".…?!".contains) == true ? words : words + "."
    }

    private static func of(_ error: LFSError) -> String {
        // The library says what a programmer has to call.
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

    /// A message of the library without what is said to programmers.
    static func forShell(_ message: String) -> String {
        message.replacing(
            " (LFSOptions.foreignStore does it by itself), or put the database back beside its own folder.",
            with: """
                , and keep it until all files are back: it may have some that were not uploaded. Or put its own \
                database back beside it; 'uploader recover' brings one that is lost back from the storage, to another \
                path.
                """
        )
        .replacing(
            " Make room on it, then try again.",
            with: " Free some space: 'uploader free' does, of what is on the storage."
        )
        // Only what is attached can wait elsewhere, and says so by itself.
        .replacing(" Free some space, or keep files on another disk.", with: " Free some space.")
        .replacing(" is evicted", with: " is freed")
        .replacing("The app's database failed:", with: "The database failed:")
    }

    private static func of(_ error: DatabaseError) -> String {
        switch error.resultCode {
        case _ where error.isForWantOfSpace: "the disk that holds the database is full\(DiskSpace.limitWords)"
        case .SQLITE_BUSY, .SQLITE_LOCKED: "another program holds the database locked"
        case .SQLITE_IOERR: "the database failed: \(error.message ?? "disk I/O error")\(DiskSpace.limitWords)"
        default: "the database failed: \(error.message ?? "\(error.resultCode)")"
        }
    }
}
