#if os(Linux)
import CSecret
import LFSSettings
import LFSSystem

/// Errors of the store.
enum SecretFailure {
    /// What GLib has said, without the text of a service: that is input, and could quote anything.
    struct Reply: Error {
        fileprivate enum Kind { case locked, badFile, protocolError, other }

        fileprivate let kind: Kind
        fileprivate let detail: String
        /// Whether the object that was asked is not there.
        let isOfAbsence: Bool

        var isOfLock: Bool { kind == .locked }

        /// Whether another session may do better. No code tells: each service has its own.
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

    /// Somebody would have to be asked, and nobody may be.
    struct Unasked: Error {
        let error: SettingsError
    }

    /// - Parameter isService: whether the bus is in use, and not libsecret's own file.
    static func error(of reply: Reply, isService: Bool) -> SettingsError {
        switch (reply.kind, isService) {
        case (.locked, _): closed
        case (.badFile, _):
            SettingsError(
                .corrupted,
                """
                The file in which libsecret keeps secrets is damaged, or its password is another one \
                (\(reply.detail)). It stays as it is: put it back from a backup.
                """)
        case (.protocolError, true):
            SettingsError(.system, "The Secret Service said something that libsecret does not take: \(reply.detail).")
        case (.other, true): unavailable(reply.detail)
        case (_, false): SettingsError(.system, "libsecret could not use its own file of secrets: \(reply.detail).")
        }
    }

    static func noLibrary(_ detail: String) -> SettingsError {
        unavailable("libsecret cannot be loaded, Debian's package libsecret-1-0 (\(detail))")
    }

    static func noThread(_ cause: SystemError) -> SettingsError {
        SettingsError(
            .system,
            """
            No thread could be made for the Secret Service (\(cause.reason)). Nothing was written. Raise the limit on \
            processes of this user (ulimit -u) or of its container, and try again.
            """)
    }

    static func unavailable(_ detail: String) -> SettingsError {
        SettingsError(
            .keychainUnavailable,
            """
            The Secret Service cannot be used: \(detail). Nothing was written, and no other place is taken. Start the \
            session bus of the user and a keyring on it; on a machine without a desktop set StorageOptions.keychain to \
            .sealedFile(at:key:).
            """)
    }

    /// What was found in one process of the service need not be in the keyring of another.
    static var ended: SettingsError {
        SettingsError(
            .keychainUnavailable,
            """
            The Secret Service ended in the middle of a call. What was to be changed may be changed or not: get it, or \
            set it again.
            """)
    }

    static var unreadable: SettingsError {
        SettingsError(
            .corrupted,
            """
            The Secret Service gives another secret each time that it is asked for the same. Nothing was changed. Try \
            again; if that stays so, look whether the keyring has a newer version, or use another one.
            """)
    }

    static var notKept: SettingsError {
        SettingsError(
            .system,
            """
            The Secret Service has taken the secret and does not give the same back. Set it again; if that stays so, \
            look whether the keyring has a newer version, or use another one.
            """)
    }

    static func expired(_ deadline: Duration) -> SettingsError {
        SettingsError(
            .locked,
            """
            The Secret Service has not answered within \(deadline): it waits for its user, or hangs. What was to be \
            changed may be changed or not. Try again once the keyring is open.
            """)
    }

    static var closed: SettingsError {
        SettingsError(
            .locked,
            """
            The keyring is locked, and nobody may be asked now. Open it, by logging in or in the desktop's program for \
            passwords, and try again.
            """)
    }

    static var noCollection: SettingsError {
        SettingsError(
            .locked,
            """
            The Secret Service has no default keyring yet, and making one asks for a password. Make one in the \
            desktop's program for passwords, or allow prompts.
            """)
    }

    static var dismissed: SettingsError {
        SettingsError(
            .promptDismissed,
            """
            The keyring is locked, and the question for its password was closed or could not be shown. Try again once \
            the keyring is open.
            """)
    }
}
#endif
