public import Foundation
import GRDB
import LFSDatabase
import LFSFiles
import LFSSystem

/// Why a cache could not be opened, or something could not be taken out of it.
///
/// What only makes reading slower is no error: it is logged, and counted in ``CacheUsage/failures``.
public struct CacheError: LocalizedError, Sendable, CustomStringConvertible {
    /// The kind of failure. More kinds may come, so a `switch` needs a `default`.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The code as text.
        public let rawValue: String
        /// A code from its text.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The code's text.
        public var description: String { rawValue }

        /// The app's database has no LFS tables, those of another version, or is in memory and no folder was given.
        public static let notMigrated = Code(rawValue: "notMigrated")
        /// The folder, or a name of ours in it, is a link or something else that cannot be used.
        public static let wrongFolder = Code(rawValue: "wrongFolder")
        /// The folder may not be written, or others could replace what is in it.
        public static let permissionDenied = Code(rawValue: "permissionDenied")
        /// Another process has the folder open for another database, or from before a reset.
        public static let inUse = Code(rawValue: "inUse")
        /// What was to be taken out may still be on the disk.
        public static let notRemoved = Code(rawValue: "notRemoved")
        /// The cache was closed.
        public static let closed = Code(rawValue: "closed")
        /// The app's database or the system reported something else.
        public static let system = Code(rawValue: "system")
    }

    /// The kind of failure.
    public let code: Code
    /// What went wrong and what to do about it, in a sentence or two.
    public let message: String
    /// The folder or file that it is about.
    public let path: String
    /// The error from below, if there was one.
    public let cause: (any Error)?

    init(_ code: Code, _ message: String, path: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.path = path
        self.cause = cause
    }

    /// The message.
    public var description: String { message }

    /// The same as ``description``, for alerts.
    public var errorDescription: String? { description }

    /// An error of opening in this module's words.
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
            return CacheError(code, error.message, path: error.path, cause: error)
        case let error as TableError:
            return CacheError(
                [.notMigrated, .newerSchema].contains(error.code) ? .notMigrated : .system, error.message, path: path,
                cause: error)
        default:
            return CacheError(.system, "The cache in \(path) could not be opened: \(error)", path: path, cause: error)
        }
    }
}
