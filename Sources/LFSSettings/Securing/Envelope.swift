import Crypto
import Foundation
import LFSSystem

/// A closed value: `LFSE`, version 1, suite, key id (16 bytes), salt (32), nonce (12), ciphertext, tag (16).
///
/// The key of a message is HKDF-SHA-256 (RFC 5869) of the data key with the salt and the info
/// `lfs-settings/1/<suite>`, 32 bytes: a key for each write, since random nonces of 96 bits bound a key to 2³² messages
/// (NIST SP 800-38D, section 8.3). The associated data is all before the ciphertext, and then the context.
struct Envelope: Sendable {
    /// What a reader needs to know before it has a key.
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
    /// How many bytes an envelope has more than what is in it.
    static let overhead = headerCount + tagCount

    /// Whether the bytes begin as an envelope does, of whatever version.
    static func isEnvelope(_ bytes: Data) -> Bool { bytes.starts(with: magic) }

    /// The id of the key that an envelope names; nil for bytes that are none of a form that is known.
    static func keyID(of envelope: Data) -> DataKeyID? {
        do { return try header(of: envelope).keyID } catch { return nil }
    }

    // MARK: Closing

    /// - Parameter salt: another one for each call, but in a test of what it makes.
    static func close(
        _ value: Data, with key: DataKey, _ suite: EnvelopeSuite, for context: EnvelopeContext, salt: Data? = nil
    ) throws -> Data {
        var random = randomBytes(saltCount + nonceCount)
        if let salt { random.replaceSubrange(..<saltCount, with: salt) }
        var bytes = Data(capacity: overhead + value.count)
        bytes.append(magic)
        bytes.append(contentsOf: [version, suite.rawValue])
        bytes.append(contentsOf: key.id.bytes)
        bytes.append(random)
        let (nonce, associated) = (random.suffix(nonceCount), associated(bytes, context))
        let messageKey = messageKey(key, suite, salt: random.prefix(saltCount))
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

    // MARK: Opening

    /// - Throws: ``SettingsError/Code/corrupted``; ``SettingsError/Code/newerValue`` for another version or suite.
    static func header(of envelope: Data) throws(SettingsError) -> Header {
        guard envelope.count >= overhead, isEnvelope(envelope) else { throw damaged }
        // Slices of it, without a copy.
        let rest = envelope.dropFirst(magic.count)
        guard rest.first == version, let suite = EnvelopeSuite(rawValue: rest[rest.startIndex + 1]) else {
            throw SettingsError(
                .newerValue,
                "The value was encrypted in a way that this version does not know. It stays as it is: update the app.")
        }
        let (keyID, random) = (rest.dropFirst(2), rest.dropFirst(2 + DataKeyID.byteCount))
        return Header(
            suite: suite, keyID: DataKeyID(bytes: keyID.prefix(DataKeyID.byteCount)), salt: random.prefix(saltCount),
            nonce: random.dropFirst(saltCount).prefix(nonceCount))
    }

    /// - Throws: ``SettingsError/Code/corrupted`` when the envelope is damaged, or belongs to something else.
    static func open(_ envelope: Data, with key: DataKey, for context: EnvelopeContext) throws(SettingsError) -> Data {
        let header = try header(of: envelope)
        let associated = associated(envelope.prefix(headerCount), context)
        // Nonce, ciphertext and tag, as a box has them.
        let box = envelope.dropFirst(headerCount - nonceCount)
        let messageKey = messageKey(key, header.suite, salt: header.salt)
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

    private static func messageKey(_ key: DataKey, _ suite: EnvelopeSuite, salt: Data) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(inputKeyMaterial: key.key, salt: salt, info: suite.info, outputByteCount: 32)
    }

    private static func associated(_ header: Data, _ context: EnvelopeContext) -> Data {
        let context = context.bytes
        var bytes = Data(capacity: header.count + context.count)
        bytes.append(header)
        bytes.append(contentsOf: context)
        return bytes
    }

    private static var damaged: SettingsError {
        SettingsError(
            .corrupted,
            """
            The encrypted value is damaged, or was moved here from another key or database. It stays as it is: set or \
            remove the key, or call discardUnreadable().
            """)
    }
}

/// Bytes of the system's generator for keys.
func randomBytes(_ count: Int) -> Data {
    var bytes = Data(count: count)
    bytes.withUnsafeMutableBytes { SystemRandom.fill($0) }
    return bytes
}
