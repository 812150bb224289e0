public import Crypto
package import Foundation
import LFSSystem

/// The source of the root key, which decrypts the data keys.
///
/// A root key has 256 bits. It is made only while the database has no data key. So a lost root key is an error, and is
/// never replaced automatically.
public struct KeySource: Sendable {
    enum Kind: Sendable {
        case keychain
        case closures(Closures)
    }

    struct Closures: Sendable {
        let load: @Sendable (_ note: Data?) async throws -> SymmetricKey?
        let make: (@Sendable () async throws -> Data?)?

        /// Returns the root key and its note, and makes both if there is no key and this is allowed.
        ///
        /// - Throws: ``SettingsError/Code/keyMissing`` without a key, and ``SettingsError/Code/keyMismatch`` for one of
        ///   a wrong length.
        func obtain(_ note: Data?, mayMake: Bool) async throws -> (root: SymmetricKey, note: Data?) {
            var note = note
            var root = try await load(note)
            if root == nil, mayMake, let make {
                note = try await make()
                root = try await load(note)
            }
            guard let root else { throw RootKeyErrors.missing }
            try RootKeyErrors.requireLength(root)
            return (root, note)
        }
    }

    let kind: Kind

    private init(kind: Kind) { self.kind = kind }

    private init(
        load: @escaping @Sendable (_ note: Data?) async throws -> SymmetricKey?,
        make: (@Sendable () async throws -> Data?)?
    ) {
        self.init(kind: .closures(Closures(load: load, make: make)))
    }

    /// The key chain of the options, with one item for this database.
    public static let keychain = KeySource(kind: .keychain)

    /// A file of 32 bytes that only this user can read. It is created when it is first needed.
    ///
    /// The file protects backups of the database, and protects against other users. It does not protect against
    /// programs of the same user. Keep it in the folder for state, away from the database.
    ///
    /// - Parameter path: an absolute path. The folder must belong to this user and be writable only by this user (mode
    ///   0700 or 0755). A missing folder is created, but its parent must exist.
    public static func keyFile(_ path: String) -> KeySource {
        let file = KeyFile(path: path)
        return KeySource(
            load: { _ in try await BlockingPool.shared.run { _ in try file.read() } },
            make: {
                let key = SymmetricKey(size: .bits256)
                try await BlockingPool.shared.run { _ in try file.make(key) }
                return nil
            })
    }

    /// A credential that systemd passes to the service: the file of this name in `$CREDENTIALS_DIRECTORY`
    /// (systemd.exec(5), `LoadCredentialEncrypted=`). LFSSettings never creates it.
    ///
    /// The file contains 32 bytes, or the same as text: 64 hex digits, or Base64 (RFC 4648).
    public static func credential(_ name: String) -> KeySource {
        credential(name, environment: ProcessInfo.processInfo.environment)
    }

    /// Returns the credential of a service with these environment variables.
    package static func credential(_ name: String, environment: [String: String]) -> KeySource {
        let credential = ServiceCredential(name: name, folder: environment["CREDENTIALS_DIRECTORY"])
        return KeySource(load: { _ in try await BlockingPool.shared.run { _ in try credential.read() } }, make: nil)
    }

    /// A root key that the app stores.
    ///
    /// - Parameters:
    ///   - load: returns the key of 256 bits, or nil if it does not exist. If the place is locked, it throws
    ///     ``SettingsError`` with the code `locked`, so that the router asks again later.
    ///   - store: stores a new key durably, unless one exists by then, because another machine may have stored it. The
    ///     router uses the key that `load` returns afterwards. Without this closure, ``SettingsError/Code/keyMissing``
    ///     is thrown.
    public static func custom(
        load: @escaping @Sendable () async throws -> SymmetricKey?,
        store: (@Sendable (SymmetricKey) async throws -> Void)? = nil
    ) -> KeySource {
        let make = store.map { store in
            { @Sendable () async throws -> Data? in
                try await store(SymmetricKey(size: .bits256))
                return nil
            }
        }
        return KeySource(load: { _ in try await load() }, make: make)
    }

    /// A source that needs a note next to the data keys, such as a salt. The note is not secret.
    ///
    /// - Parameters:
    ///   - load: receives the note, or nil before the first one.
    ///   - make: returns a new note.
    package static func noted(
        load: @escaping @Sendable (_ note: Data?) async throws -> SymmetricKey?,
        make: @escaping @Sendable () async throws -> Data?
    ) -> KeySource {
        KeySource(load: load, make: make)
    }
}

extension KeySource: CustomStringConvertible, CustomReflectable {
    /// A fixed text that reveals nothing of the key.
    public var description: String { "a source of a root key" }
    /// An empty mirror, so that a dump shows nothing of the key.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
