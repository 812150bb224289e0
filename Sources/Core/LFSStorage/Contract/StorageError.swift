public import Foundation

/// The reason why a call to a remote storage failed.
public struct StorageError: LocalizedError, Sendable, CustomStringConvertible {
    /// The kind of failure. More kinds may be added, so a `switch` needs a `default`.
    public struct Code: RawRepresentable, Hashable, Codable, Sendable, CustomStringConvertible {
        /// The code as text, as stored and logged.
        public let rawValue: String
        /// Creates a code from its text.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The code's text.
        public var description: String { rawValue }

        /// No object exists under the key.
        public static let missing = Code(rawValue: "missing")
        /// The storage cannot be reached: no network, an unknown host, an unmounted share.
        public static let unreachable = Code(rawValue: "unreachable")
        /// The storage responded too late, or stopped in the middle.
        public static let timeout = Code(rawValue: "timeout")
        /// The storage asks for fewer or later requests.
        public static let throttled = Code(rawValue: "throttled")
        /// The storage failed, or its response was invalid.
        public static let serverError = Code(rawValue: "serverError")
        /// The stored bytes differ from the uploaded ones.
        public static let integrity = Code(rawValue: "integrity")
        /// The credentials are wrong or have expired, or the clocks differ too much.
        public static let unauthorized = Code(rawValue: "unauthorized")
        /// The credentials do not permit this call.
        public static let forbidden = Code(rawValue: "forbidden")
        /// The settings of the storage are invalid for every object: a missing bucket, another region, an unsupported
        /// storage class, or a server with another protocol.
        public static let misconfigured = Code(rawValue: "misconfigured")
        /// The storage has no space left.
        public static let noSpace = Code(rawValue: "noSpace")
        /// The file exceeds the largest object that the storage accepts.
        public static let tooLarge = Code(rawValue: "tooLarge")
        /// The local bytes may be in a folder that is missing now, for example on an unmounted disk.
        public static let sourceAbsent = Code(rawValue: "sourceAbsent")
        /// The local bytes do not match the recorded size and checksum.
        public static let sourceChanged = Code(rawValue: "sourceChanged")
        /// The local bytes exist but cannot be read, because of a bad sector or a missing permission. The storage is
        /// not the cause.
        public static let sourceUnreadable = Code(rawValue: "sourceUnreadable")
        /// The system keeps the local bytes encrypted until the device is unlocked (iOS). The storage is not the cause.
        public static let sourceLocked = Code(rawValue: "sourceLocked")
        /// The app's own database, which the upload needs, could not be read or written. The storage is not the cause.
        public static let databaseFailed = Code(rawValue: "databaseFailed")
        /// The object has another entity tag than the request.
        public static let changed = Code(rawValue: "changed")
        /// The storage did not return the requested range of bytes.
        public static let rangeRefused = Code(rawValue: "rangeRefused")
        /// The object is in an archive of the storage, and has to be restored there before it can be read.
        public static let archived = Code(rawValue: "archived")
        /// The key breaks the rules of ``ObjectKey``.
        public static let invalidKey = Code(rawValue: "invalidKey")
        /// The request is not valid for this object, because the storage does not support it.
        public static let invalidRequest = Code(rawValue: "invalidRequest")
        /// The call's task was cancelled.
        public static let cancelled = Code(rawValue: "cancelled")
        /// A failure that the storage does not specify.
        public static let unknown = Code(rawValue: "unknown")
    }

    /// The kind of failure.
    public let code: Code
    /// A sentence for the person who has to fix the problem. It never contains a secret.
    public let message: String
    /// The object that the error concerns.
    public var key: ObjectKey?
    /// The delay that the storage requested before the next call.
    public var retryAfter: Duration?
    /// The underlying error, if there is one.
    public var cause: (any Error)?

    /// Creates an error of a storage.
    ///
    /// - Parameters:
    ///   - code: the kind of failure. It decides whether the call is retried.
    ///   - message: a sentence for the person who has to fix the problem, without a secret.
    ///   - key: the object that the error concerns, or nil if it concerns the whole storage.
    ///   - retryAfter: the delay that the storage requested, or nil without such a request.
    ///   - cause: the underlying error, if there is one.
    public init(
        _ code: Code, message: String, key: ObjectKey? = nil, retryAfter: Duration? = nil, cause: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.key = key
        self.retryAfter = retryAfter
        self.cause = cause
    }

    /// True if the same call may succeed later without anyone fixing anything.
    public var isRetryable: Bool {
        switch code {
        case .unreachable, .timeout, .throttled, .serverError, .integrity, .noSpace, .sourceUnreadable, .sourceLocked,
            .sourceAbsent, .databaseFailed, .cancelled, .unknown:
            true
        default: false
        }
    }

    /// True if the error concerns the whole storage, so that every file would fail: the storage is unavailable, rejects
    /// the credentials, or is not set up.
    ///
    /// Then the failure is not counted for a file. Uploads and deletions wait while one call at a time checks whether
    /// the problem is over. ``Code/forbidden`` is not included, because it may concern a single object. It is treated
    /// as a problem of the whole storage only until the storage accepts another file.
    public var isAboutStorage: Bool {
        switch code {
        case .unreachable, .unauthorized, .misconfigured: true
        default: false
        }
    }

    /// True if another file must be tried before a single one is considered the cause. This is the case for
    /// ``isAboutStorage`` and for ``Code/forbidden``. A storage returns the latter both for a key that its policy
    /// excludes and for credentials without any permissions.
    package var mayBeAboutStorage: Bool { isAboutStorage || code == .forbidden }

    /// True if the object does not exist. For a delete this is a success, for a download a failure.
    public var isMissing: Bool { code == .missing }

    /// The message of the error.
    public var description: String { message }

    /// The same as ``description``, for alerts.
    public var errorDescription: String? { description }

    /// A sentence about a possible remedy, if the code alone suggests one.
    public var recoverySuggestion: String? {
        switch code {
        case .unreachable, .timeout: "Check the network connection, then try again."
        case .throttled, .serverError: "Try again later."
        case .sourceLocked: "Unlock the device."
        case .unauthorized: "Check the credentials, and the clock of this device."
        case .forbidden: "Ask the owner of the storage for the permission."
        case .noSpace: "Make room on the storage, then try again."
        case .archived: "Restore the object from the archive of the storage, then try again."
        default: nil
        }
    }

    /// Converts any error to a storage error: a `StorageError` is kept, a cancellation becomes ``Code/cancelled``, and
    /// any other error ``Code/unknown``.
    public init(wrapping error: any Error, key: ObjectKey? = nil) {
        if let error = error as? StorageError {
            self = error
            if self.key == nil { self.key = key }
        } else if error is CancellationError {
            self.init(.cancelled, message: "The transfer was cancelled.", key: key, cause: error)
        } else {
            self.init(.unknown, message: "The storage failed: \(error)", key: key, cause: error)
        }
    }
}
