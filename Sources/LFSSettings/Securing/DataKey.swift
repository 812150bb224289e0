import Crypto
import Foundation
import LFSSystem

/// The name of a data key: 16 random bytes.
struct DataKeyID: Sendable, Hashable {
    static let byteCount = 16

    /// The first eight bytes and the last, most significant byte first.
    private let high: UInt64
    private let low: UInt64

    init(bytes: some Sequence<UInt8>) {
        var numbers = (high: UInt64(0), low: UInt64(0))
        for byte in bytes { numbers = (numbers.high << 8 | numbers.low >> 56, numbers.low << 8 | UInt64(byte)) }
        (high, low) = numbers
    }

    /// Nil for a text that is no 32 lowercase hex digits.
    init?(hex text: String) {
        let digits = text.utf8
        let isHex = digits.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
        guard digits.count == 2 * Self.byteCount, isHex else { return nil }
        let values = digits.map { $0 < 0x40 ? $0 - 0x30 : $0 - 0x57 }
        self.init(bytes: stride(from: 0, to: values.count, by: 2).map { values[$0] << 4 | values[$0 + 1] })
    }

    static func random() -> DataKeyID { DataKeyID(bytes: randomBytes(byteCount)) }

    var bytes: [UInt8] { [high, low].flatMap { number in withUnsafeBytes(of: number.bigEndian) { Array($0) } } }

    /// 32 lowercase hex digits.
    var text: String { ContentHash.hex(of: bytes) }
}

/// A key that closes envelopes.
struct DataKey: Sendable, CustomStringConvertible, CustomReflectable {
    let id: DataKeyID
    let key: SymmetricKey

    var description: String { "a data key" }
    var customMirror: Mirror { Mirror(self, children: []) }

    /// The key under the root key: an envelope of version 1 of AES-256-GCM whose context is the key's own id.
    func wrapped(by root: SymmetricKey, _ installID: FileID) throws -> Data {
        try Envelope.close(
            key.withUnsafeBytes { Data($0) }, with: Self.root(root), .aesGCM, for: Self.context(id, installID))
    }

    /// - Throws: ``SettingsError/Code/corrupted`` when another root key has wrapped it.
    static func unwrapping(
        _ wrapped: Data, id: DataKeyID, by root: SymmetricKey, _ installID: FileID
    ) throws(SettingsError) -> DataKey {
        let bytes = try Envelope.open(wrapped, with: Self.root(root), for: context(id, installID))
        return DataKey(id: id, key: SymmetricKey(data: bytes))
    }

    /// A root key as one that closes envelopes. Its id is part of a hash of it, by which another one is told.
    static func root(_ key: SymmetricKey) -> DataKey {
        let check = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: key, salt: Data(), info: Data("lfs-settings/1/root".utf8),
            outputByteCount: DataKeyID.byteCount)
        return DataKey(id: check.withUnsafeBytes { DataKeyID(bytes: $0) }, key: key)
    }

    private static func context(_ id: DataKeyID, _ installID: FileID) -> EnvelopeContext {
        EnvelopeContext(installID: installID, domain: "key", name: id.text, serializer: "key", version: 1)
    }
}

/// The data keys that a call has.
struct KeySet: Sendable, CustomReflectable {
    /// The one that closes what is written; nil without any.
    let current: DataKey?
    /// The one that closes and those that only open.
    let all: [DataKeyID: DataKey]
    /// Those that are there and that the root key does not open.
    let unreadable: Set<DataKeyID>

    static let none = KeySet(current: nil, all: [:], unreadable: [])

    var customMirror: Mirror { Mirror(self, children: []) }

    /// - Throws: ``SettingsError/Code/keyMissing`` or ``SettingsError/Code/keyMismatch`` without a key for it;
    ///   ``SettingsError/Code/corrupted``.
    func open(_ envelope: Data, for context: EnvelopeContext) throws(SettingsError) -> Data {
        let id = try Envelope.header(of: envelope).keyID
        guard let key = all[id] else {
            if unreadable.contains(id) { throw RootKeyErrors.mismatch }
            throw SettingsError(
                .keyMissing,
                """
                The data key of the value is not in the database: it was forgotten, or the value is another \
                database's. Put back the database that it belongs to, or call discardUnreadable().
                """)
        }
        return try Envelope.open(envelope, with: key, for: context)
    }

    func close(_ value: Data, _ suite: EnvelopeSuite, for context: EnvelopeContext) throws -> Data {
        // There are keys, and the one of now is damaged: a rotation makes another.
        guard let current else { throw unreadable.isEmpty ? RootKeyErrors.missing : RootKeyErrors.mismatch }
        return try Envelope.close(value, with: current, suite, for: context)
    }
}

/// What is said when there is no root key, or another one.
enum RootKeyErrors {
    /// - Throws: ``SettingsError/Code/keyMismatch`` for a key that has not 256 bits.
    static func requireLength(_ root: SymmetricKey) throws(SettingsError) {
        guard root.bitCount == 256 else {
            throw SettingsError(
                .keyMismatch,
                """
                The root key has \(root.bitCount) bits, and has to have 256. Give the one that was used, or 32 random \
                bytes.
                """)
        }
    }

    static var missing: SettingsError {
        SettingsError(
            .keyMissing,
            """
            The root key is not there, and values are encrypted with it. Put it back where it was; nothing was changed \
            and no other key was made. If it is gone for good, giveUpRootKey() gives the values up.
            """)
    }

    static var mismatch: SettingsError {
        SettingsError(
            .keyMismatch,
            """
            The root key is another one than the values are encrypted with, or a data key is damaged. Put back the one \
            that was used; nothing was changed. If that is gone for good, giveUpRootKey() gives the values up.
            """)
    }
}
