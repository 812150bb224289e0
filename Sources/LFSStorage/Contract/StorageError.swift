public import Foundation

/// Why a remote storage could not do what it was asked.
public struct StorageError: LocalizedError, Sendable, CustomStringConvertible {
    /// The kind of failure. More kinds may come, so a `switch` needs a `default`.
    public struct Code: RawRepresentable, Hashable, Codable, Sendable, CustomStringConvertible {
        /// The code as text, as it is stored and logged.
        public let rawValue: String
        /// A code from its text.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The code's text.
        public var description: String { rawValue }

        /// Nothing is stored under the key.
        public static let missing = Code(rawValue: "missing")
        /// The storage cannot be reached at all: no network, no such host, an unmounted share.
        public static let unreachable = Code(rawValue: "unreachable")
        /// It answered too late, or stopped in the middle.
        public static let timeout = Code(rawValue: "timeout")
        /// It asks for fewer or later requests.
        public static let throttled = Code(rawValue: "throttled")
        /// It failed on its side, or its answer made no sense.
        public static let serverError = Code(rawValue: "serverError")
        /// What it stored is not what was sent.
        public static let integrity = Code(rawValue: "integrity")
        /// The credentials are wrong or have expired, or the clocks differ too much for them.
        public static let unauthorized = Code(rawValue: "unauthorized")
        /// The credentials do not allow this.
        public static let forbidden = Code(rawValue: "forbidden")
        /// The storage's own settings cannot be right, whatever the object: no such bucket, another region, a storage
        /// class that it does not have, a server that does not speak its protocol.
        public static let misconfigured = Code(rawValue: "misconfigured")
        /// It has no room left.
        public static let noSpace = Code(rawValue: "noSpace")
        /// The file is larger than it takes.
        public static let tooLarge = Code(rawValue: "tooLarge")
        /// The local bytes may be in a folder that is not there now, such as an unmounted disk.
        public static let sourceAbsent = Code(rawValue: "sourceAbsent")
        /// The local bytes are not the ones whose size and checksum were recorded.
        public static let sourceChanged = Code(rawValue: "sourceChanged")
        /// The local bytes are there and cannot be read: a bad sector, a permission that was taken away. The storage
        /// has nothing to do with it.
        public static let sourceUnreadable = Code(rawValue: "sourceUnreadable")
        /// The app's own database could not be read or written, which the upload needs. The storage has nothing to do
        /// with it.
        public static let databaseFailed = Code(rawValue: "databaseFailed")
        /// The object is not the one that the request named by its entity tag.
        public static let changed = Code(rawValue: "changed")
        /// It did not answer a range with the bytes that were asked for.
        public static let rangeRefused = Code(rawValue: "rangeRefused")
        /// The key breaks the rules of ``ObjectKey``.
        public static let invalidKey = Code(rawValue: "invalidKey")
        /// The request cannot be right for this object: something that the storage does not support.
        public static let invalidRequest = Code(rawValue: "invalidRequest")
        /// The call's task was cancelled.
        public static let cancelled = Code(rawValue: "cancelled")
        /// Something that no storage has put a name to.
        public static let unknown = Code(rawValue: "unknown")
    }

    /// What kind of failure it is.
    public let code: Code
    /// A sentence for the person who has to mend it. It never holds a secret.
    public let message: String
    /// The object that it was about.
    public var key: ObjectKey?
    /// How long the storage asked to be left alone.
    public var retryAfter: Duration?
    /// The error below this one, if there is one.
    public var cause: (any Error)?

    /// An error of a storage.
    ///
    /// - Parameters:
    ///   - code: what kind of failure it is. It decides whether another try follows.
    ///   - message: a sentence for the person who has to mend it, without a secret.
    ///   - key: the object that it was about; nil when it was about the storage as a whole.
    ///   - retryAfter: how long the storage asked to be left alone; nil when it asked for nothing.
    ///   - cause: the error below this one, if there is one.
    public init(
        _ code: Code, _ message: String, key: ObjectKey? = nil, retryAfter: Duration? = nil, cause: (any Error)? = nil
    ) {
        self.code = code
        self.message = message
        self.key = key
        self.retryAfter = retryAfter
        self.cause = cause
    }

    /// Whether the same call may succeed later without anyone mending anything.
    public var isRetryable: Bool {
        switch code {
        case .unreachable, .timeout, .throttled, .serverError, .integrity, .noSpace, .sourceUnreadable, .sourceAbsent,
            .databaseFailed, .cancelled, .unknown:
            true
        default: false
        }
    }

    /// Whether it is about the storage as a whole, so that every other file would meet it too: the storage is away,
    /// takes no credentials of ours, or is not set up.
    ///
    /// No file is to blame then. Uploads and deletions wait while one try at a time finds out whether it is over.
    /// ``Code/forbidden`` is not among them, for it may be about a single object: it counts as about the storage only
    /// until the storage takes another file, see ``mayBeAboutStorage``.
    public var isAboutStorage: Bool {
        switch code {
        case .unreachable, .unauthorized, .misconfigured: true
        default: false
        }
    }

    /// Whether another file has to be tried before a single one is blamed: ``isAboutStorage``, or ``Code/forbidden``,
    /// which is the storage's answer both to a key that its policy excludes and to credentials without any rights.
    public var mayBeAboutStorage: Bool { isAboutStorage || code == .forbidden }

    /// Whether the object is not there, which ends a delete well and a download badly.
    public var isMissing: Bool { code == .missing }

    /// The message.
    public var description: String { message }

    /// The same as ``description``, for alerts.
    public var errorDescription: String? { description }

    /// A sentence on what a person can do, where the code alone names it.
    public var recoverySuggestion: String? {
        switch code {
        case .unreachable, .timeout: "Check the network connection, then try again."
        case .throttled, .serverError: "Try again later."
        case .unauthorized: "Check the credentials, and the clock of this device."
        case .forbidden: "Ask the owner of the storage for the permission."
        case .noSpace: "Make room on the storage, then try again."
        default: nil
        }
    }

    /// Any error as a storage error: itself, a cancellation, or ``Code/unknown``.
    public init(wrapping error: any Error, key: ObjectKey? = nil) {
        if let error = error as? StorageError {
            self = error
            if self.key == nil { self.key = key }
        } else if error is CancellationError {
            self.init(.cancelled, "The transfer was cancelled.", key: key, cause: error)
        } else {
            self.init(.unknown, "The storage failed: \(error)", key: key, cause: error)
        }
    }
}
