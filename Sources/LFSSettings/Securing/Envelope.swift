import Crypto
import Foundation

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
    static func isEnvelope(_ bytes: Data) -> Bool { bytes.count >= magic.count && bytes.prefix(magic.count) == magic }

    /// The id of the key that an envelope names; nil for bytes that are none of a form that is known.
    static func keyID(of envelope: Data) -> DataKeyID? {
        do { return try header(of: envelope).keyID } catch { return nil }
    }

    // MARK: Closing

    static func close(
        _ value: Data, with key: DataKey, _ suite: EnvelopeSuite, for context: EnvelopeContext,
        salt: Data = randomBytes(saltCount)
    ) throws -> Data {
        let header = Header(suite: suite, keyID: key.id, salt: salt, nonce: randomBytes(nonceCount))
        let (start, messageKey) = (bytes(of: header), messageKey(key, header))
        let associated = start + context.bytes
        switch suite {
        case .aesGCM:
            let box = try AES.GCM.seal(
                value, using: messageKey, nonce: AES.GCM.Nonce(data: header.nonce), authenticating: associated)
            return start + box.ciphertext + box.tag
        case .chaChaPoly:
            let box = try ChaChaPoly.seal(
                value, using: messageKey, nonce: ChaChaPoly.Nonce(data: header.nonce), authenticating: associated)
            return start + box.ciphertext + box.tag
        }
    }

    // MARK: Opening

    /// - Throws: ``SettingsError/Code/corrupted``; ``SettingsError/Code/newerValue`` for another version or suite.
    static func header(of envelope: Data) throws(SettingsError) -> Header {
        let bytes = [UInt8](envelope.prefix(headerCount))
        guard envelope.count >= overhead, isEnvelope(envelope) else { throw damaged }
        guard bytes[4] == version, let suite = EnvelopeSuite(rawValue: bytes[5]) else {
            throw SettingsError(
                .newerValue,
                "The value was encrypted in a way that this version does not know. It stays as it is: update the app.")
        }
        return Header(
            suite: suite, keyID: DataKeyID(bytes: bytes[6..<22]), salt: Data(bytes[22..<54]),
            nonce: Data(bytes[54..<66]))
    }

    /// - Throws: ``SettingsError/Code/corrupted`` when the envelope is damaged, or belongs to something else.
    static func open(_ envelope: Data, with key: DataKey, for context: EnvelopeContext) throws(SettingsError) -> Data {
        let header = try header(of: envelope)
        let body = envelope.dropFirst(headerCount)
        let (ciphertext, tag) = (body.dropLast(tagCount), body.suffix(tagCount))
        let associated = Data(envelope.prefix(headerCount)) + context.bytes
        let messageKey = messageKey(key, header)
        do {
            switch header.suite {
            case .aesGCM:
                let box = try AES.GCM.SealedBox(
                    nonce: AES.GCM.Nonce(data: header.nonce), ciphertext: ciphertext, tag: tag)
                return try AES.GCM.open(box, using: messageKey, authenticating: associated)
            case .chaChaPoly:
                let box = try ChaChaPoly.SealedBox(
                    nonce: ChaChaPoly.Nonce(data: header.nonce), ciphertext: ciphertext, tag: tag)
                return try ChaChaPoly.open(box, using: messageKey, authenticating: associated)
            }
        } catch {
            throw damaged
        }
    }

    private static func messageKey(_ key: DataKey, _ header: Header) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: key.key, salt: header.salt, info: Data("lfs-settings/1/\(header.suite.rawValue)".utf8),
            outputByteCount: 32)
    }

    private static func bytes(of header: Header) -> Data {
        magic + [version, header.suite.rawValue] + header.keyID.bytes + header.salt + header.nonce
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
    SymmetricKey(size: SymmetricKeySize(bitCount: 8 * count)).withUnsafeBytes { Data($0) }
}
