public import Foundation

/// Why a setting could not be read or written, and what to do.
///
/// Nothing in it is a value, a key or a passphrase, and of the members of a family it names the family only.
public struct SettingsError: LocalizedError, Sendable, CustomStringConvertible {
    /// The kind of failure. More kinds may come, so a `switch` needs a `default`.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The code as text, as it is logged.
        public let rawValue: String
        /// A code from its text.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The code's text.
        public var description: String { rawValue }
    }

    /// The kind of failure.
    public let code: Code
    /// A sentence for a person, with what to do. It holds no value.
    public let message: String
    /// The name of the key that it is about, or of its family.
    public let key: String?
    /// What is below it; nil where that could quote a secret.
    public let cause: (any Error)?

    /// An error, also for closures of the app: one with the code `locked` has a root key asked for again later.
    ///
    /// - Parameters:
    ///   - code: the kind of failure.
    ///   - message: a sentence for a person, without a value.
    ///   - key: the name of the key that it is about.
    ///   - cause: what is below it.
    public init(_ code: Code, _ message: String, key: String? = nil, cause: (any Error)? = nil) {
        (self.code, self.message, self.key, self.cause) = (code, message, key, cause)
    }

    /// The message.
    public var description: String { message }

    /// The same as ``description``, for alerts.
    public var errorDescription: String? { description }

    /// A sentence on what a person can do, where the code alone names it.
    public var recoverySuggestion: String? {
        switch code {
        case .locked, .promptDismissed: "Unlock the keyring, then try again."
        case .noSpace: "Make room on the disk, then try again."
        case .folderAbsent: "Connect or mount the disk, then try again."
        case .newerValue, .newerData, .newerSchema: "Update the app."
        default: nil
        }
    }

    /// The same without texts that are not for everybody's eyes, and without what is below, which may have them too.
    func hiding(_ texts: [String]) -> SettingsError {
        let message = texts.reduce(message) { $0.replacingOccurrences(of: $1, with: "…") }
        return SettingsError(code, message, key: key)
    }

    /// Whether what is stored may be there and cannot be asked for now.
    var isOfClosedPlace: Bool {
        [.locked, .promptDismissed, .keychainUnavailable, .folderAbsent].contains(code)
    }

    /// The same about a key, where it names none yet.
    package func about(_ key: String) -> SettingsError {
        self.key == nil ? SettingsError(code, message, key: key, cause: cause) : self
    }
}
