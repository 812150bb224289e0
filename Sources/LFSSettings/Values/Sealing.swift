import Foundation
import LFSSystem

/// Puts serialized values into envelopes, and takes them out, for keys that ask for it.
struct Sealing: Sendable {
    let ring: KeyRing
    let now: @Sendable () -> Int64

    func access(for info: KeyInfo) -> KeyAccess { info.security == .none ? .none : .ring(ring) }

    func close(_ content: SerializedValue, _ name: String, _ info: KeyInfo, _ keys: KeySet) throws -> StoredValue {
        let value = StoredValue(content, updatedAt: now())
        guard let suite = info.security.suite else { return value }
        return value.with(bytes: try keys.close(content.bytes, suite, for: context(name, info.domain, content)))
    }

    func open(_ value: StoredValue, _ name: String, _ info: KeyInfo, _ keys: KeySet) throws -> SerializedValue {
        guard info.security != .none else { return value.content }
        guard Envelope.isEnvelope(value.content.bytes) else { throw Self.plain }
        return value.with(bytes: try keys.open(value.content.bytes, for: context(name, info.domain, value.content)))
            .content
    }

    func context(_ name: String, _ domain: StorageDomain, _ content: SerializedValue) -> EnvelopeContext {
        EnvelopeContext(
            installID: ring.installID, domain: domain.word, name: name, serializer: content.serializer,
            version: content.version)
    }

    private static var plain: SettingsError {
        SettingsError(
            .corrupted,
            """
            What is stored is not encrypted, and the key says that it is: another program has written it, or the key \
            was a plain one. It stays as it is: set or remove the key, or migrate it from the plain key under another \
            name.
            """)
    }
}
