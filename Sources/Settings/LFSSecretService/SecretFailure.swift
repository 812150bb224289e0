#if os(Linux)
import CSecret
import LFSSettings
import LFSSystem

/// The errors of the store.
enum SecretFailure {
    /// An error of GLib, without the service's message, which is untrusted and could quote anything.
    struct Reply: Error {
        fileprivate enum Kind { case locked, badFile, protocolError, other }

        fileprivate let kind: Kind
        fileprivate let detail: String
        /// True if the requested object does not exist.
        let isOfAbsence: Bool

        var isOfLock: Bool { kind == .locked }

        /// True if another session may succeed. Error codes do not help, because each service has its own.
        var mayBeOfSession: Bool { kind == .protocolError || kind == .other }

        init(_ error: UnsafePointer<lfs_secret_error>) {
            kind =
                if lfs_secret_error_is_locked(error) != 0 {
                    .locked
                } else if lfs_secret_error_is_bad_file(error) != 0 {
                    .badFile
                } else if lfs_secret_error_is_of_protocol(error) != 0 {
                    .protocolError
                } else {
                    .other
                }
            isOfAbsence = lfs_secret_error_is_of_absence(error) != 0
            let domain = lfs_secret_error_domain(error).map { String(cString: $0) } ?? "GLib"
            let remoteName = lfs_secret_error_remote_name(error)
            defer { lfs_secret_free(remoteName) }
            let text = (remoteName.map { UnsafePointer($0) } ?? error.pointee.message).map { String(cString: $0) } ?? ""
            detail = "\(text.debugDescription), \(domain) \(error.pointee.code)"
        }
    }

    /// An error of a call that needs a prompt although prompts are not allowed.
    struct PromptRequired: Error {
        let error: SettingsError
    }

    /// - Parameter isService: true for the bus, false for libsecret's own file.
    static func error(of reply: Reply, isService: Bool) -> SettingsError {
        switch (reply.kind, isService) {
        case (.locked, _): closed
        case (.badFile, _):
            SettingsError(
                .corrupted,
                message: """
                    The file in which libsecret keeps secrets is damaged, or has a different password \
                    (\(reply.detail)). It is left unchanged. Restore it from a backup.
                    """)
        case (.protocolError, true):
            SettingsError(
                .system, message: "The Secret Service sent a reply that libsecret does not accept: \(reply.detail).")
        case (.other, true): unavailable(reply.detail)
        case (_, false):
            SettingsError(.system, message: "libsecret could not use its own file of secrets: \(reply.detail).")
        }
    }

    static func noLibrary(_ detail: String) -> SettingsError {
        unavailable("libsecret cannot be loaded (Debian package libsecret-1-0): \(detail)")
    }

    static func noThread(_ cause: SystemError) -> SettingsError {
        SettingsError(
            .system,
            message: """
                No thread could be created for the Secret Service (\(cause.reason)). Nothing was written. Raise the \
                process limit of this user (ulimit -u) or of its container, and try again.
                """)
    }

    static func unavailable(_ detail: String) -> SettingsError {
        SettingsError(
            .keychainUnavailable,
            message: """
                The Secret Service cannot be used: \(detail). Nothing was written, and no other place is used instead. \
                Start the session bus of the user and a keyring on it. On a machine without a desktop, set \
                StorageOptions.keychain to .sealedFile(at:key:).
                """)
    }

    /// Items that were found in one process of the service may not be in the keyring of another.
    static var ended: SettingsError {
        SettingsError(
            .keychainUnavailable,
            message: """
                The Secret Service ended in the middle of a call. The change may or may not have been made. Read the \
                value to find out, or set it again.
                """)
    }

    static var unreadable: SettingsError {
        SettingsError(
            .corrupted,
            message: """
                The Secret Service returns a different secret for the same item each time. Nothing was changed. Try \
                again. If the problem remains, look for a newer version of the keyring, or use another one.
                """)
    }

    static var notKept: SettingsError {
        SettingsError(
            .system,
            message: """
                The Secret Service accepted the secret but does not return the same one. Set it again. If the problem \
                remains, look for a newer version of the keyring, or use another one.
                """)
    }

    static func expired(_ deadline: Duration) -> SettingsError {
        SettingsError(
            .locked,
            message: """
                The Secret Service has not answered within \(deadline). It waits for its user, or hangs. The change \
                may or may not have been made. Try again once the keyring is unlocked.
                """)
    }

    static var closed: SettingsError {
        SettingsError(
            .locked,
            message: """
                The keyring is locked, and no prompt may be shown now. Unlock it by logging in or in the desktop's \
                password manager, and try again.
                """)
    }

    static var noCollection: SettingsError {
        SettingsError(
            .locked,
            message: """
                The Secret Service has no default keyring yet, and creating one asks for a password. Create one in the \
                desktop's password manager, or allow prompts.
                """)
    }

    static var dismissed: SettingsError {
        SettingsError(
            .promptDismissed,
            message: """
                The keyring is locked, and the prompt for its password was closed or could not be shown. Try again \
                once the keyring is unlocked.
                """)
    }
}
#endif
