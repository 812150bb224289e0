import Foundation
import LFSDatabase
import LFSSystem

/// A store for values in a key chain, next to a sentinel.
///
/// Before the first value, the item `lfs.sentinel` is written to the key chain. Then the database records which key
/// chain it is. From then on a missing item means a missing value only if the sentinel exists.
struct KeychainStore: SettingsStore {
    var resetPlace: ResetPlace? { .keychain }

    static let sentinel = "lfs.sentinel"
    /// The item with the root key of ``KeySource/keychain``.
    static let rootKey = "lfs.root"
    private static let ownItems: Set = [sentinel, rootKey]

    let secrets: any SecretStore
    let installID: FileID
    let runner: BackgroundRunner

    func read(_ name: String) async throws -> StoredValue? {
        guard try await isNoted() else { return nil }
        guard let bytes = try await secrets.read(name, requiring: Self.sentinel) else { return nil }
        return try StoredValue(encoded: bytes, for: place(name))
    }

    func update(
        _ name: String, ring: KeyRing?, _ body: @escaping @Sendable (ValueReader, KeySet) throws -> StoredChange
    ) async throws {
        if try await !isNoted() { try await adopt() }
        let place = place(name)
        try await secrets.update(name, requiring: Self.sentinel) { read in
            let value = { try read().map { try StoredValue(encoded: $0, for: place) } }
            return switch try body(value, .none) {
            case .keep: .keep
            case .put(let value): .put(value.encoded(for: place))
            case .remove: .remove
            }
        }
    }

    /// Accepts the key chain in its current state: writes the sentinel, and records the key chain.
    func adopt() async throws {
        let content = Data(installID.text.utf8)
        try await secrets.update(Self.sentinel, requiring: nil) { _ in .put(content) }
        try await note()
    }

    private func note() async throws {
        let note = try KeychainNote(of: secrets).encoded
        try await runner.writeDurably { db in try SettingsStateTable.noteKeychain(note, db) }
    }

    func summaries() async throws -> [StoredSummary] {
        guard try await isNoted() else { return [] }
        var summaries: [StoredSummary] = []
        for name in try await secrets.items() where !Self.ownItems.contains(name) {
            do {
                guard let value = try await read(name) else { continue }
                summaries.append(
                    StoredSummary(
                        name: name, byteCount: value.content.bytes.count, serializerVersion: value.content.version,
                        updatedAt: value.updatedAt))
            } catch let error as SettingsError where error.code == .corrupted || error.code == .newerValue {
                // The audit lists the value, and reports that it cannot be read.
                summaries.append(
                    StoredSummary(name: name, byteCount: 0, serializerVersion: nil, updatedAt: nil))
            }
        }
        return summaries
    }

    func stamp(of name: String) async throws -> String? { try await secrets.stamp() }

    /// Removes the values. The sentinel and the root key are kept. Without the data keys the root key decrypts nothing.
    func removeAll() async throws {
        guard try await isNoted() else { return }
        for name in try await secrets.items() where !Self.ownItems.contains(name) {
            try await secrets.update(name, requiring: nil) { _ in .remove }
        }
    }

    // MARK: The sentinel

    /// Returns true if the key chain was used before. Throws if a different key chain was used.
    ///
    /// The app's folder may have moved, with the database and the key chain in it. The new place is recorded then.
    private func isNoted() async throws -> Bool {
        guard let text = try await runner.read(SettingsStateTable.read).keychain else { return false }
        let (noted, present) = (KeychainNote(text), KeychainNote(of: secrets))
        if noted == present { return true }
        guard try await isSame(noted, present: present) else {
            throw SettingsError(
                .keychainReplaced,
                message: """
                    The secrets of this database are in \(noted.kind), but the options name \(present.kind). Name the \
                    former one. If it is lost for good, adoptKeychain() accepts the present one with its contents.
                    """)
        }
        try await note()
        return true
    }

    private func isSame(_ noted: KeychainNote, present: KeychainNote) async throws -> Bool {
        if noted.shares(present) { return true }
        // Earlier versions recorded only the absolute path. The sentinel identifies this database.
        guard noted.movingKind == nil, noted.isOfSameService(as: present) else { return false }
        return try await secrets.read(Self.sentinel, requiring: nil) == Data(installID.text.utf8)
    }

    private func place(_ name: String) -> String { "\(installID.text)/\(name)" }
}
