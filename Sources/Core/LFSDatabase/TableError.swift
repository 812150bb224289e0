package import LFSSystem

/// The reason why the tables of LFS could not be read, written or used.
package struct TableError: Error, Sendable, CustomStringConvertible {
    package enum Code: String, CaseIterable, Sendable {
        /// The database has no LFS tables yet, or those of an older version.
        case notMigrated
        case newerSchema
        /// The identity in the database is invalid.
        case wrongStore
        /// A row contains a value that LFS never writes.
        case invalidRow
        /// A table of the host cannot own files in its current form.
        case unsuitableOwner
        /// The connection already has an insert guard.
        case alreadyOpen
        /// The disk or the quota is full.
        case noSpace
        /// The connection, or the database file, is read-only.
        case readOnly
        /// The connection was closed.
        case closed
        /// GRDB's notification has suspended the connection.
        case suspended
    }

    package let code: Code
    package let message: String
    /// The file that the error concerns.
    package let fileID: FileID?
    package let cause: (any Error)?

    package init(_ code: Code, message: String, fileID: FileID? = nil, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.fileID = fileID
        self.cause = cause
    }

    package var description: String { message }

    package static let closed = TableError(
        .closed,
        message: "The connection to the database was closed. Stop what uses it first, or open the database again.")

    package static func suspended(cause: any Error) -> TableError {
        TableError(
            .suspended,
            message: """
                The connection to the database is suspended. Post Database.resumeNotification before you use it again.
                """,
            cause: cause)
    }

    package static func readOnly(cause: (any Error)?) -> TableError {
        TableError(
            .readOnly,
            message: """
                The connection to the database is read-only, and LFSManager writes to it. Read files through it with \
                LFSReader, or open LFSManager on a connection without Configuration.readonly.
                """,
            cause: cause)
    }
}
