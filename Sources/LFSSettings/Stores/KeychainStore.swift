import Foundation
import LFSDatabase
import LFSSystem

/// Values in a key chain, beside a sentinel.
///
/// Before the first value `lfs.sentinel` is written there, and then the database notes which key chain it is. Where it
/// is noted, nothing found is the absence of a value only as long as the sentinel is there.
struct KeychainStore: SettingsStore {
    var resetPlace: ResetPlace? { .keychain }

    static let sentinel = "lfs.sentinel"
    /// The item with the root key of ``KeySource/keychain``.
    static let rootKey = "lfs.root"
    /// What is no key's.
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
        _ name: String, keys: KeyAccess, _ body: @escaping @Sendable (ValueReader, KeySet) throws -> StoredChange
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

    /// Takes the key chain as it is: writes the sentinel, and notes it.
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
                // The audit lists what is there, and that this one cannot be read.
                summaries.append(
                    StoredSummary(name: name, byteCount: 0, serializerVersion: nil, updatedAt: nil))
            }
        }
        return summaries
    }

    func stamp(of name: String) async throws -> String? { try await secrets.stamp() }

    /// The sentinel stays, and the root key: without the data keys it opens nothing.
    func removeAll() async throws {
        guard try await isNoted() else { return }
        for name in try await secrets.items() where !Self.ownItems.contains(name) {
            try await secrets.update(name, requiring: nil) { _ in .remove }
        }
    }

    // MARK: The sentinel

    /// Whether there has been a value. Throws when it was in another key chain.
    ///
    /// An app's folder may have moved since, with the database and the key chain in it: then the new place is noted.
    private func isNoted() async throws -> Bool {
        guard let text = try await runner.read(SettingsStateTable.read).keychain else { return false }
        let (noted, present) = (KeychainNote(text), KeychainNote(of: secrets))
        if noted == present { return true }
        guard try await isSame(noted, present) else {
            throw SettingsError(
                .keychainReplaced,
                """
                The secrets of this database are in \(noted.kind), and the options name \(present.kind). Name the \
                former one. If it is gone for good, adoptKeychain() takes the present one with what is in it.
                """)
        }
        try await note()
        return true
    }

    private func isSame(_ noted: KeychainNote, _ present: KeychainNote) async throws -> Bool {
        if noted.shares(present) { return true }
        // Earlier versions noted the absolute path alone. The sentinel names this database.
        guard noted.movingKind == nil, noted.isOfSameService(as: present) else { return false }
        return try await secrets.read(Self.sentinel, requiring: nil) == Data(installID.text.utf8)
    }

    private func place(_ name: String) -> String { "\(installID.text)/\(name)" }
}
