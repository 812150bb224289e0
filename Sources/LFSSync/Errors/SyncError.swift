public import Foundation

/// What went wrong with sync, and what to do.
public struct SyncError: LocalizedError, Sendable, CustomStringConvertible {
    /// More may come.
    public struct Code: RawRepresentable, Hashable, Sendable {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The table cannot be shared as it is.
        public static let unsuitableTable = Code(rawValue: "unsuitableTable")
        /// A table that was shared is gone, or its key has changed.
        public static let missingTable = Code(rawValue: "missingTable")
        /// The URL of the server cannot be used.
        public static let invalidServer = Code(rawValue: "invalidServer")
        /// The server does not know the session any more: sign in again.
        public static let unauthorized = Code(rawValue: "unauthorized")
        /// The app's closure gave no token; ``SyncError/cause`` is its error.
        public static let noToken = Code(rawValue: "noToken")
        /// The connection to the database is read-only or was closed.
        public static let unusableDatabase = Code(rawValue: "unusableDatabase")
        /// The server cannot be reached, or asks for patience.
        public static let unavailable = Code(rawValue: "unavailable")
        /// The disk that holds the database is full. What had come is kept.
        public static let noSpace = Code(rawValue: "noSpace")
        /// The stream ended in its middle. What had come is kept.
        public static let cut = Code(rawValue: "cut")
        /// The server said something that this version cannot take.
        public static let unexpectedReply = Code(rawValue: "unexpectedReply")
        /// The server shares other tables than this app.
        public static let unknownType = Code(rawValue: "unknownType")
        /// Another device uses the same session.
        public static let forked = Code(rawValue: "forked")
        /// The session is another account's than the one whose rows this database has.
        public static let otherAccount = Code(rawValue: "otherAccount")
    }

    public let code: Code
    /// A sentence for a person. It holds no secret.
    public let message: String
    /// Seconds that the server asks to wait.
    public let retryAfter: Int64?
    public let cause: (any Error)?
    /// Whether the account has sent more than it may at once.
    var isThrottled = false

    init(_ code: Code, _ message: String, retryAfter: Int64? = nil, cause: (any Error)? = nil) {
        (self.code, self.message, self.retryAfter, self.cause) = (code, message, retryAfter, cause)
    }

    static let ofOtherAccount = SyncError(
        .otherAccount,
        """
        This session is another account's than the rows of this database: sign in with the account that they belong \
        to, or begin with another database.
        """)

    public var description: String { message }

    /// The same as ``description``, for alerts.
    public var errorDescription: String? { description }

    /// A sentence on what a person can do, where the code alone names it.
    public var recoverySuggestion: String? {
        switch code {
        case .unauthorized, .noToken: "Sign in again."
        case .unavailable, .cut: "Check the network connection, then try again."
        case .noSpace: "Make room on the disk, then try again."
        default: nil
        }
    }

    /// Whether trying again later may help.
    public var isRetryable: Bool { [.unavailable, .cut, .noSpace].contains(code) }
}
