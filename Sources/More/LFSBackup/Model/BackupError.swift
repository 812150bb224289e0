public import Foundation

/// An error of a backup, or of a single original.
public struct BackupError: LocalizedError, Sendable, CustomStringConvertible {
    /// The kind of failure. More kinds may come, so a `switch` needs a `default`.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The code as text, as it is logged.
        public let rawValue: String
        /// A code from its text.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The code's text.
        public var description: String { rawValue }

        /// An original, or the whole source, cannot be read.
        public static let unreadable = Code(rawValue: "unreadable")
        /// An excluded group does not exist, so its content cannot be determined.
        public static let groupAbsent = Code(rawValue: "groupAbsent")
        /// The app refuses an original. When a closure of the app throws this code, only that original fails.
        public static let refused = Code(rawValue: "refused")
        /// A pattern for paths is invalid.
        public static let illegalPattern = Code(rawValue: "illegalPattern")
        /// The system's information on network or power cannot be read.
        public static let deviceUnknown = Code(rawValue: "deviceUnknown")
    }

    /// The kind of failure.
    public let code: Code
    /// A message for people, with the remedy.
    public let message: String
    /// The original that the error concerns.
    public let asset: AssetName?

    /// Creates an error. Closures and sources of the app may use it, too.
    public init(_ code: Code, message: String, asset: AssetName? = nil) {
        self.code = code
        self.message = message
        self.asset = asset
    }

    /// The message.
    public var description: String { message }

    /// The same as ``description``, for alerts.
    public var errorDescription: String? { description }
}
