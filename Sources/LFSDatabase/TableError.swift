package import LFSSystem

/// Why the tables of LFS could not be read, written or used.
package struct TableError: Error, Sendable, CustomStringConvertible {
    package enum Code: String, CaseIterable, Sendable {
        /// The database has no tables of LFS yet, or those of an older version.
        case notMigrated
        case newerSchema
        /// What the database says of itself cannot be right.
        case wrongStore
        /// A row has a value that no row of LFS can have.
        case invalidRow
        /// A table of the host cannot own files as it is.
        case unsuitableOwner
        /// The connection has an insert guard already.
        case alreadyOpen
        /// The disk or the quota is full.
        case noSpace
        /// The connection, or the file of the database, cannot be written to.
        case readOnly
        /// The connection was closed.
        case closed
    }

    package let code: Code
    package let message: String
    /// The file that it is about.
    package let fileID: FileID?
    package let cause: (any Error)?

    package init(_ code: Code, _ message: String, fileID: FileID? = nil, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.fileID = fileID
        self.cause = cause
    }

    package var description: String { message }

    package static let closed = TableError(
        .closed, "The connection to the database was closed. Stop what uses it first, or open the database again.")

    package static func readOnly(cause: (any Error)?) -> TableError {
        TableError(
            .readOnly,
            """
            The connection to the database is read-only, and LFSManager writes to it. Read files through it with \
            LFSReader, or open LFSManager on a connection without Configuration.readonly.
            """,
            cause: cause)
    }
}
