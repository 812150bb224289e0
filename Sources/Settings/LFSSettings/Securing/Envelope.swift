import Crypto
import Foundation
import LFSSystem

/// The format of an encrypted value: `LFSE`, version 1, suite, key id (16 bytes), salt (32), nonce (12), ciphertext,
/// tag (16).
///
/// The key of a message is HKDF-SHA-256 (RFC 5869) of the data key, with the salt and the info
/// `lfs-settings/1/<suite>`, 32 bytes. Each write has its own key, because random nonces of 96 bits limit a key to 2³²
/// messages (NIST SP 800-38D, section 8.3). The associated data is everything before the ciphertext, followed by the
/// context.
struct Envelope: Sendable {
    struct Header: Sendable, Hashable {
        let suite: EnvelopeSuite
        let keyID: DataKeyID
        let salt: Data
        let nonce: Data
    }

    static let magic = Data("LFSE".utf8)
    static let version: UInt8 = 1
    static let saltCount = 32
    private static let nonceCount = 12
    private static let tagCount = 16
    private static let headerCount = 4 + 1 + 1 + DataKeyID.byteCount + saltCount + nonceCount
    /// The difference in bytes between an envelope and its content.
    static let overhead = headerCount + tagCount

    /// Returns true if the bytes begin like an envelope of any version.
    static func isEnvelope(_ bytes: Data) -> Bool { bytes.starts(with: magic) }

    /// Returns the id of the key that an envelope names. Nil for bytes of an unknown format.
    static func keyID(of envelope: Data) -> DataKeyID? {
        do { return try header(of: envelope).keyID } catch { return nil }
    }

    // MARK: Encryption

    static func close(
        _ value: Data, with key: DataKey, suite: EnvelopeSuite, for context: EnvelopeContext
    ) throws -> Data {
        let random = randomBytes(saltCount + nonceCount)
        var bytes = Data(capacity: overhead + value.count)
        bytes.append(magic)
        bytes.append(contentsOf: [version, suite.rawValue])
        bytes.append(contentsOf: key.id.bytes)
        bytes.append(random)
        let (nonce, associated) = (random.suffix(nonceCount), associated(bytes, context: context))
        let messageKey = messageKey(key, suite: suite, salt: random.prefix(saltCount))
        switch suite {
        case .aesGCM:
            let box = try AES.GCM.seal(
                value, using: messageKey, nonce: AES.GCM.Nonce(data: nonce), authenticating: associated)
            bytes.append(box.ciphertext)
            bytes.append(box.tag)
        case .chaChaPoly:
            let box = try ChaChaPoly.seal(
                value, using: messageKey, nonce: ChaChaPoly.Nonce(data: nonce), authenticating: associated)
            bytes.append(box.ciphertext)
            bytes.append(box.tag)
        }
        return bytes
    }

    // MARK: Decryption

    /// - Throws: ``SettingsError/Code/corrupted``, and ``SettingsError/Code/newerValue`` for another version or suite.
    static func header(of envelope: Data) throws(SettingsError) -> Header {
        guard envelope.count >= overhead, isEnvelope(envelope) else { throw damaged }
        // Slices without a copy.
        let rest = envelope.dropFirst(magic.count)
        guard rest.first == version, let suite = EnvelopeSuite(rawValue: rest[rest.startIndex + 1]) else {
            throw SettingsError(
                .newerValue,
                message:
                    "This version does not support the encryption of the value. It is left unchanged. Update the app."
            )
        }
        let (keyID, random) = (rest.dropFirst(2), rest.dropFirst(2 + DataKeyID.byteCount))
        return Header(
            suite: suite, keyID: DataKeyID(bytes: keyID.prefix(DataKeyID.byteCount)), salt: random.prefix(saltCount),
            nonce: random.dropFirst(saltCount).prefix(nonceCount))
    }

    /// - Throws: ``SettingsError/Code/corrupted`` when the envelope is damaged or was made for another context.
    static func open(_ envelope: Data, with key: DataKey, for context: EnvelopeContext) throws(SettingsError) -> Data {
        let header = try header(of: envelope)
        let associated = associated(envelope.prefix(headerCount), context: context)
        // Nonce, ciphertext and tag: the combined form of a sealed box.
        let box = envelope.dropFirst(headerCount - nonceCount)
        let messageKey = messageKey(key, suite: header.suite, salt: header.salt)
        do {
            switch header.suite {
            case .aesGCM:
                return try AES.GCM.open(
                    AES.GCM.SealedBox(combined: box), using: messageKey, authenticating: associated)
            case .chaChaPoly:
                return try ChaChaPoly.open(
                    ChaChaPoly.SealedBox(combined: box), using: messageKey, authenticating: associated)
            }
        } catch {
            throw damaged
        }
    }

    private static func messageKey(_ key: DataKey, suite: EnvelopeSuite, salt: Data) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(inputKeyMaterial: key.key, salt: salt, info: suite.info, outputByteCount: 32)
    }

    private static func associated(_ header: Data, context: EnvelopeContext) -> Data {
        let context = context.bytes
        var bytes = Data(capacity: header.count + context.count)
        bytes.append(header)
        bytes.append(contentsOf: context)
        return bytes
    }

    private static var damaged: SettingsError {
        SettingsError(
            .corrupted,
            message: """
                The encrypted value is damaged, or was moved from another key or database. It is left unchanged. Set \
                or remove the key, or call discardUnreadable().
                """)
    }
}

/// Returns bytes of the system's secure random generator.
func randomBytes(_ count: Int) -> Data {
    var bytes = Data(count: count)
    bytes.withUnsafeMutableBytes { SystemRandom.fill($0) }
    return bytes
}

/// The identity of an encrypted value. An envelope opens only with the context that it was made for.
struct EnvelopeContext: Sendable, Hashable {
    let installID: FileID
    let domain: String
    let name: String
    let serializer: String
    let version: Int

    /// The texts, each preceded by its length as four bytes with the most significant byte first, so that no two
    /// contexts have the same bytes.
    var bytes: [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(256)
        for text in [installID.text, domain, name, serializer, String(version)] {
            withUnsafeBytes(of: UInt32(text.utf8.count).bigEndian) { bytes.append(contentsOf: $0) }
            bytes.append(contentsOf: text.utf8)
        }
        return bytes
    }
}
