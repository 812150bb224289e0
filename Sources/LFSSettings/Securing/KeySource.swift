public import Crypto
package import Foundation
import LFSSystem

/// Where the root key comes from, which opens the data keys.
///
/// A root key has 256 bits. It is made only while the database has no data key, so a root key that is lost is an
/// error and never replaced by another.
public struct KeySource: Sendable {
    enum Kind: Sendable {
        /// In the router's own key chain.
        case keychain
        case closures(
            load: @Sendable (_ note: Data?) async throws -> SymmetricKey?,
            make: (@Sendable () async throws -> Data?)?)
    }

    let kind: Kind

    /// In the key chain of the options, as an item of this database.
    public static let keychain = KeySource(kind: .keychain)

    /// A file of 32 bytes that only this user can read, made when it is needed first.
    ///
    /// It protects backups of the database, and against other users, not against programs of the same user. Keep it
    /// away from the database, in the folder for state.
    ///
    /// - Parameter path: an absolute one. Its folder has to belong to this user, who alone may write to it (mode 0700
    ///   or 0755), and is made if it is missing; the parent of the folder has to exist.
    public static func keyFile(_ path: String) -> KeySource {
        let file = KeyFile(path: path)
        return KeySource(
            kind: .closures(
                load: { _ in try await BlockingPool.shared.run { _ in try file.read() } },
                make: {
                    let key = SymmetricKey(size: .bits256)
                    try await BlockingPool.shared.run { _ in try file.make(key) }
                    return nil
                }))
    }

    /// A credential that systemd gives to the service: the file of the name in `$CREDENTIALS_DIRECTORY`
    /// (systemd.exec(5), `LoadCredentialEncrypted=`). It is never made here.
    ///
    /// It has 32 bytes, or text of 64 hex digits or in Base64 (RFC 4648) that stands for as many.
    public static func credential(_ name: String) -> KeySource {
        KeySource(
            kind: .closures(
                load: { _ in try await BlockingPool.shared.run { _ in try ServiceCredential(name: name).read() } },
                make: nil))
    }

    /// A root key of the app's own.
    ///
    /// - Parameters:
    ///   - load: returns the key of 256 bits, or nil when there is none. A place that is locked throws
    ///     ``SettingsError`` with the code `locked`, so that the router asks again later.
    ///   - store: keeps a new key, durably, unless one is there by now, as another machine may have stored it: what
    ///     `load` returns afterwards counts. ``SettingsError/Code/keyMissing`` is thrown without it.
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
        return KeySource(kind: .closures(load: { _ in try await load() }, make: make))
    }

    /// For a source that needs a note beside the data keys, such as a salt, which is no secret.
    ///
    /// - Parameters:
    ///   - load: gets the note, nil while there is none.
    ///   - make: returns a new note.
    package static func noted(
        load: @escaping @Sendable (_ note: Data?) async throws -> SymmetricKey?,
        make: @escaping @Sendable () async throws -> Data?
    ) -> KeySource {
        KeySource(kind: .closures(load: load, make: make))
    }
}

extension KeySource: CustomStringConvertible, CustomReflectable {
    /// Nothing of the key.
    public var description: String { "a source of a root key" }
    /// Empty, so that a dump shows nothing of the key.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
