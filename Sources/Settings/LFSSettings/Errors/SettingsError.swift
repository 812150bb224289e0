public import Foundation

/// The error of reading or writing a setting, with advice on how to fix it.
///
/// It contains no value, key or passphrase. For members of a family, it names only the family.
public struct SettingsError: LocalizedError, Sendable, CustomStringConvertible {
    /// The kind of failure. Later versions may add kinds, so a `switch` needs a `default`.
    public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
        /// The code as text, for logs.
        public let rawValue: String
        /// Creates a code from its text.
        public init(rawValue: String) { self.rawValue = rawValue }
        /// The code as text.
        public var description: String { rawValue }
    }

    /// The kind of failure.
    public let code: Code
    /// A sentence for people that says what to do. It contains no value.
    public let message: String
    /// The name of the affected key, or of its family.
    public let key: String?
    /// The underlying error, or nil if it could quote a secret.
    public let cause: (any Error)?

    /// Creates an error. Closures of the app can throw it too. If the code is `locked`, the router asks for the root
    /// key again later.
    public init(_ code: Code, message: String, key: String? = nil, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.key = key
        self.cause = cause
    }

    /// The message.
    public var description: String { message }

    /// The same as ``description``, for alerts.
    public var errorDescription: String? { description }

    /// A sentence that says what a person can do, for codes that imply it.
    public var recoverySuggestion: String? {
        switch code {
        case .locked, .promptDismissed: "Unlock the keyring, then try again."
        case .noSpace: "Make room on the disk, then try again."
        case .folderAbsent: "Connect or mount the disk, then try again."
        case .newerValue, .newerData, .newerSchema: "Update the app."
        default: nil
        }
    }

    /// Returns the error with private texts replaced in the message, and without its cause, which may contain them too.
    func hiding(_ texts: [String]) -> SettingsError {
        let message = texts.reduce(message) { $0.replacingOccurrences(of: $1, with: "…") }
        return SettingsError(code, message: message, key: key)
    }

    /// True if a value may be stored in a place that cannot be read now.
    var isOfClosedPlace: Bool {
        [.locked, .promptDismissed, .keychainUnavailable, .folderAbsent].contains(code)
    }

    /// Returns the error with the name of a key, unless it already has one.
    package func about(_ key: String) -> SettingsError {
        self.key == nil ? SettingsError(code, message: message, key: key, cause: cause) : self
    }

    static var noRootKey: SettingsError {
        SettingsError(
            .notConfigured,
            message:
                "A key is encrypted, and the options name no root key. Set StorageOptions.rootKey, such as .keyFile(…)."
        )
    }

    static var noKeychain: SettingsError {
        SettingsError(
            .notConfigured,
            message: """
                A key, or the root key, is in the key chain, but the options name no key chain. Set \
                StorageOptions.keychain, such as .sealedFile(at:key:).
                """)
    }
}
