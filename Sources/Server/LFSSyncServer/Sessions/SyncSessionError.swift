public import Foundation

/// An error when a session is created or extended.
public struct SyncSessionError: LocalizedError, Sendable, Hashable, CustomStringConvertible {
    /// The reasons why a session is neither created nor extended.
    public enum Code: String, Sendable {
        /// The account has the maximum number of sessions.
        case tooMany
        /// The rights name a type that the server does not have.
        case unknownType
        /// The session belongs to another account, or has ended.
        case unknownSession
    }

    /// The reason.
    public let code: Code
    /// A sentence that says what to do.
    public let message: String

    /// The same as ``message``.
    public var description: String { message }

    /// The same as ``description``, for alerts.
    public var errorDescription: String? { description }
}
