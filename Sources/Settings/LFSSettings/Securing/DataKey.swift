import Crypto
import Foundation
import LFSSystem

/// The id of a data key: 16 random bytes.
struct DataKeyID: Sendable, Hashable {
    static let byteCount = 16

    /// The bytes, most significant byte first.
    private let number: UInt128

    init(bytes: some Sequence<UInt8>) { number = bytes.reduce(0) { $0 << 8 | UInt128($1) } }

    /// Creates an id from 32 lowercase hex digits. Nil for any other text.
    init?(hex text: String) {
        guard let number = UInt128(text, radix: 16) else { return nil }
        self.number = number
        if self.text != text { return nil }
    }

    static func random() -> DataKeyID { DataKeyID(bytes: randomBytes(byteCount)) }

    var bytes: [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }

    var text: String { ContentHash.hex(of: bytes) }
}

struct DataKey: Sendable, CustomStringConvertible, CustomReflectable {
    let id: DataKeyID
    let key: SymmetricKey

    var description: String { "a data key" }
    var customMirror: Mirror { Mirror(self, children: []) }

    /// Returns the key encrypted by the root key, in an envelope of version 1 with AES-256-GCM. The envelope's context
    /// is the key's own id.
    func wrapped(by root: SymmetricKey, _ installID: FileID) throws -> Data {
        try Envelope.close(
            key.withUnsafeBytes { Data($0) }, with: Self.root(root), suite: .aesGCM,
            for: Self.context(id, installID: installID))
    }

    /// - Throws: ``SettingsError/Code/corrupted`` when a different root key has wrapped it.
    static func unwrapping(
        _ wrapped: Data, id: DataKeyID, by root: SymmetricKey, installID: FileID
    ) throws(SettingsError) -> DataKey {
        let bytes = try Envelope.open(wrapped, with: Self.root(root), for: context(id, installID: installID))
        return DataKey(id: id, key: SymmetricKey(data: bytes))
    }

    /// Returns a root key in the form of a data key. Its id is derived from the key, and distinguishes it from other
    /// root keys.
    static func root(_ key: SymmetricKey) -> DataKey {
        let check = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: key, salt: Data(), info: Data("lfs-settings/1/root".utf8),
            outputByteCount: DataKeyID.byteCount)
        return DataKey(id: check.withUnsafeBytes { DataKeyID(bytes: $0) }, key: key)
    }

    private static func context(_ id: DataKeyID, installID: FileID) -> EnvelopeContext {
        EnvelopeContext(installID: installID, domain: "key", name: id.text, serializer: "key", version: 1)
    }
}

struct KeySet: Sendable, CustomReflectable {
    /// The key that encrypts new values, if any.
    let current: DataKey?
    /// The current key, and the older ones that only decrypt.
    let all: [DataKeyID: DataKey]
    /// The ids of stored keys that the root key cannot decrypt.
    let unreadable: Set<DataKeyID>

    static let none = KeySet(current: nil, all: [:], unreadable: [])

    var customMirror: Mirror { Mirror(self, children: []) }

    /// - Throws: ``SettingsError/Code/keyMissing`` or ``SettingsError/Code/keyMismatch`` without the key of the
    ///   envelope, and ``SettingsError/Code/corrupted``.
    func open(_ envelope: Data, for context: EnvelopeContext) throws(SettingsError) -> Data {
        let id = try Envelope.header(of: envelope).keyID
        guard let key = all[id] else {
            if unreadable.contains(id) { throw RootKeyErrors.mismatch }
            throw SettingsError(
                .keyMissing,
                message: """
                    The data key of the value is not in the database. It was deleted, or the value belongs to another \
                    database. Restore the database that the value belongs to, or call discardUnreadable().
                    """)
        }
        return try Envelope.open(envelope, with: key, for: context)
    }

    func close(_ value: Data, suite: EnvelopeSuite, for context: EnvelopeContext) throws -> Data {
        // There may be keys although the current one is damaged. A rotation makes a new current key.
        guard let current else { throw unreadable.isEmpty ? RootKeyErrors.missing : RootKeyErrors.mismatch }
        return try Envelope.close(value, with: current, suite: suite, for: context)
    }
}

enum RootKeyErrors {
    static func requireLength(_ root: SymmetricKey) throws(SettingsError) {
        guard root.bitCount == 256 else {
            throw SettingsError(
                .keyMismatch,
                message: """
                    The root key has \(root.bitCount) bits and must have 256. Give the one that was used before, or 32 \
                    random bytes.
                    """)
        }
    }

    static var missing: SettingsError {
        SettingsError(
            .keyMissing,
            message: """
                The root key is missing, and values are encrypted with it. Nothing was changed, and no other key was \
                created. Put the key back where it was. If it is lost for good, giveUpRootKey() removes the values.
                """)
    }

    static var mismatch: SettingsError {
        SettingsError(
            .keyMismatch,
            message: """
                The root key is not the one that the values are encrypted with, or a data key is damaged. Nothing was \
                changed. Put back the root key that was used. If it is lost for good, giveUpRootKey() removes the \
                values.
                """)
    }
}
