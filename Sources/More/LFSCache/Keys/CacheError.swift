public import Foundation
import GRDB
import LFSDatabase
import LFSFiles
import LFSSystem

/// An error of opening a cache, or of removing an entry from it.
///
/// Failures that only make reads slower do not throw. They are logged and counted in ``CacheUsage/failures``.
public struct CacheError: LocalizedError, Sendable, CustomStringConvertible {
    /// The kind of failure. More kinds may come, so a `switch` needs a `default`.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The code as text.
        public let rawValue: String
        /// A code from its text.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The code's text.
        public var description: String { rawValue }

        /// The app's database has no LFS tables or those of another version, or is in memory and no folder was given.
        public static let notMigrated = Code(rawValue: "notMigrated")
        /// The folder, or a name in it that the cache uses, is a link or something else that cannot be used.
        public static let wrongFolder = Code(rawValue: "wrongFolder")
        /// The folder is not writable, or other users could replace its content.
        public static let permissionDenied = Code(rawValue: "permissionDenied")
        /// Another process has the folder open for another database, or from before a reset.
        public static let inUse = Code(rawValue: "inUse")
        /// An entry could not be removed and may still be on the disk.
        public static let notRemoved = Code(rawValue: "notRemoved")
        /// The cache was closed.
        public static let closed = Code(rawValue: "closed")
        /// The app's database or the system reported another error.
        public static let system = Code(rawValue: "system")
    }

    /// The kind of failure.
    public let code: Code
    /// A description of the failure and its remedy, in one or two sentences.
    public let message: String
    /// The folder or file that the error concerns.
    public let path: String
    /// The underlying error, if there was one.
    public let cause: (any Error)?

    init(_ code: Code, message: String, path: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.path = path
        self.cause = cause
    }

    /// The message.
    public var description: String { message }

    /// The same as ``description``, for alerts.
    public var errorDescription: String? { description }

    /// Converts an error of opening into an error of this module.
    static func opening(_ error: any Error, at path: String) -> any Error {
        switch error {
        case is CacheError, is CancellationError: return error
        case let error as FileError:
            let code: Code =
                switch error.code {
                case .wrongStore, .notAFile, .missing: .wrongFolder
                case .permissionDenied, .readOnly: .permissionDenied
                default: .system
                }
            return CacheError(code, message: error.message, path: error.path, cause: error)
        case let error as TableError:
            return CacheError(
                [.notMigrated, .newerSchema].contains(error.code) ? .notMigrated : .system, message: error.message,
                path: path,
                cause: error)
        default:
            return CacheError(
                .system, message: "The cache in \(path) could not be opened: \(error)", path: path, cause: error)
        }
    }
}
