public import Foundation

/// Why a backup, or one original of it, came to nothing.
public struct BackupError: LocalizedError, Sendable, CustomStringConvertible {
    /// The kind of failure. More kinds may come, so a `switch` needs a `default`.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The code as text, as it is logged.
        public let rawValue: String
        /// A code from its text.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The code's text.
        public var description: String { rawValue }

        /// An original cannot be read.
        public static let unreadable = Code(rawValue: "unreadable")
        /// A group that is to be left out is not there, so that what is in it cannot be told.
        public static let groupAbsent = Code(rawValue: "groupAbsent")
        /// The app refuses an original; thrown by its closures, it concerns that one alone.
        public static let refused = Code(rawValue: "refused")
        /// A pattern for paths is written wrongly.
        public static let illegalPattern = Code(rawValue: "illegalPattern")
        /// What the system says of network or power cannot be read.
        public static let deviceUnknown = Code(rawValue: "deviceUnknown")
    }

    /// The kind of failure.
    public let code: Code
    /// A sentence for a person, with what to do.
    public let message: String
    /// The original that it is about.
    public let asset: AssetName?

    /// An error, also for closures and sources of the app.
    public init(_ code: Code, _ message: String, asset: AssetName? = nil) {
        (self.code, self.message, self.asset) = (code, message, asset)
    }

    /// The message.
    public var description: String { message }

    /// The same as ``description``, for alerts.
    public var errorDescription: String? { description }
}
