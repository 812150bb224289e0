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
}
