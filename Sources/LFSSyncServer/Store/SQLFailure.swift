public import Foundation

/// What a database has refused, or could not do.
public struct SQLFailure: LocalizedError, Sendable, CustomStringConvertible {
    /// Kinds that callers tell apart.
    public enum Code: String, Sendable {
        /// A NOT NULL, CHECK, UNIQUE or foreign key; or a trigger that raises.
        case constraint
        /// A value that a column cannot take.
        case invalidValue
        /// Another transaction stood in the way until patience ended, or each time.
        case busy
        /// It took longer than a statement may.
        case timeout
        /// The disk is full.
        case noSpace
        /// The database cannot be reached, or is shutting down.
        case unavailable
        /// It is not what it should be: a table is missing, a file is damaged, the account may not do it.
        case unusable
    }

    public let code: Code
    /// The database's own words. They may repeat values of a row, and hold no password.
    public let message: String

    /// - Parameters:
    ///   - code: what kind of failure it is.
    ///   - message: the database's own words.
    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { "\(code.rawValue): \(message)" }

    /// The same as ``description``, for alerts.
    public var errorDescription: String? { description }
}
