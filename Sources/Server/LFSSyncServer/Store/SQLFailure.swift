public import Foundation

/// A refusal or failure of a database.
public struct SQLFailure: LocalizedError, Sendable, CustomStringConvertible {
    /// The kinds of failures that callers distinguish.
    public enum Code: String, Sendable {
        /// A NOT NULL, CHECK, UNIQUE or foreign key constraint failed, or a trigger raised an error.
        case constraint
        /// A value that a column cannot take.
        case invalidValue
        /// Another transaction blocked this one until the timeout, or in every attempt.
        case busy
        /// The statement took longer than permitted, or needs more levels of triggers than the database has.
        case timeout
        /// The disk is full.
        case noSpace
        /// The database cannot be reached, or is shutting down.
        case unavailable
        /// The database is not as expected: a table is missing, a file is damaged, or the account lacks a permission.
        case unusable
    }

    /// The kind of failure.
    public let code: Code
    /// The database's message. It may contain values of a row, but no password.
    public let message: String

    /// Creates a failure.
    ///
    /// - Parameters:
    ///   - code: the kind of failure.
    ///   - message: the database's message.
    public init(_ code: Code, message: String) {
        self.code = code
        self.message = message
    }

    /// The code and the message.
    public var description: String { "\(code.rawValue): \(message)" }

    /// The same as ``description``, for alerts.
    public var errorDescription: String? { description }
}
