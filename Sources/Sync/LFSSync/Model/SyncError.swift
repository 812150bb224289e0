public import Foundation

/// An error of sync. The message says what to do.
public struct SyncError: LocalizedError, Sendable, CustomStringConvertible {
    /// The kind of an error. Later versions may add more.
    public struct Code: RawRepresentable, Hashable, Sendable {
        /// The code as text.
        public let rawValue: String
        /// Creates a code from its text.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// The table cannot be synced in its current form.
        public static let unsuitableTable = Code(rawValue: "unsuitableTable")
        /// A table that was synced no longer exists or is no longer installed.
        public static let missingTable = Code(rawValue: "missingTable")
        /// The server's URL is not usable.
        public static let invalidServer = Code(rawValue: "invalidServer")
        /// No connection to the server is possible with these settings: a certificate of one side is not accepted, or
        /// the server uses another protocol.
        public static let misconfigured = Code(rawValue: "misconfigured")
        /// The server does not know the session any more. Sign in again.
        public static let unauthorized = Code(rawValue: "unauthorized")
        /// The app's closure returned no token. ``SyncError/cause`` is its error.
        public static let noToken = Code(rawValue: "noToken")
        /// The connection to the database is read-only or closed, or another program has damaged a row of sync.
        public static let unusableDatabase = Code(rawValue: "unusableDatabase")
        /// The server is unreachable or asks the device to wait.
        public static let unavailable = Code(rawValue: "unavailable")
        /// The disk that holds the database is full. Rows received so far are kept.
        public static let noSpace = Code(rawValue: "noSpace")
        /// The stream ended early, or another sync of this database has started. Rows received so far are kept.
        public static let cut = Code(rawValue: "cut")
        /// The server sent a reply that this version cannot process.
        public static let unexpectedReply = Code(rawValue: "unexpectedReply")
        /// The server does not share a table of this app.
        public static let unknownType = Code(rawValue: "unknownType")
        /// The server and this device disagree on the history. Another device uses the same session, or one of the
        /// databases is an older copy.
        public static let forked = Code(rawValue: "forked")
        /// The session belongs to a different account than the rows of this database.
        public static let otherAccount = Code(rawValue: "otherAccount")
        /// The session may only read. Local changes stay queued.
        public static let readOnly = Code(rawValue: "readOnly")
        /// The session may not use a table of this app. Local changes stay queued.
        public static let typeNotAllowed = Code(rawValue: "typeNotAllowed")
    }

    /// The kind of the error.
    public let code: Code
    /// A sentence for the user. It contains no secrets.
    public let message: String
    /// The delay in seconds that the server asks for.
    public let retryAfter: Int64?
    /// The error that caused this one, such as that of the database or of the app's closure.
    public let cause: (any Error)?
    /// True if the account has sent more than the server allows at once.
    var isThrottled = false

    init(_ code: Code, message: String, retryAfter: Int64? = nil, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.retryAfter = retryAfter
        self.cause = cause
    }

    static let ofOtherAccount = SyncError(
        .otherAccount,
        message: """
            This session belongs to another account than the rows of this database. Sign in with the account of the \
            rows, or start with another database.
            """)

    /// The same as ``message``.
    public var description: String { message }

    /// The same as ``description``, for alerts.
    public var errorDescription: String? { description }

    /// A sentence with advice for the user, if the code alone determines it.
    public var recoverySuggestion: String? {
        switch code {
        case .unauthorized, .noToken: "Sign in again."
        case .unavailable, .cut: "Check the network connection, then try again."
        case .noSpace: "Make room on the disk, then try again."
        default: nil
        }
    }

    /// True if trying again later may help.
    public var isRetryable: Bool { [.unavailable, .cut, .noSpace].contains(code) }
}
