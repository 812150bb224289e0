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

    func names() async throws -> [String] {
        guard try await isNoted() else { return [] }
        return try await secrets.items().filter { !Self.ownItems.contains($0) }
    }

    func stamp(of name: String) async throws -> String? { try await secrets.stamp() }

    /// Removes the values. The sentinel and the root key are kept. Without the data keys the root key decrypts nothing.
    func removeAll() async throws {
        for name in try await names() { try await secrets.update(name, requiring: nil) { _ in .remove } }
    }

    // MARK: The sentinel

    /// Returns true if the key chain was used before. Throws if a different key chain was used.
    ///
    /// The app's folder may have moved, with the database and the key chain in it. The new place is recorded then.
    private func isNoted() async throws -> Bool {
        guard let text = try await runner.read(SettingsStateTable.read).keychain else { return false }
        let (noted, present) = (KeychainNote(text), KeychainNote(of: secrets))
        if noted == present { return true }
        guard noted.shares(present) else {
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

    private func place(_ name: String) -> String { "\(installID.text)/\(name)" }
}

/// The database's note of the key chain in use: its kind and its place, also relative to the database's folder.
///
/// Stored as a JSON array of both, or as plain text without the second.
struct KeychainNote: Equatable {
    let kind: String
    let movingKind: String?

    init(of secrets: any SecretStore) {
        kind = secrets.kind
        movingKind = secrets.movingKind
    }

    init(_ text: String) {
        let texts = (try? JSONDecoder().decode([String].self, from: Data(text.utf8))) ?? [text]
        kind = texts.first ?? text
        movingKind = texts.dropFirst().first
    }

    var encoded: String {
        get throws {
            guard let movingKind else { return kind }
            let encoder = JSONEncoder()
            encoder.outputFormatting = .withoutEscapingSlashes
            return String(decoding: try encoder.encode([kind, movingKind]), as: UTF8.self)
        }
    }

    /// Returns true if both have the same place, or places that have moved together with the database.
    func shares(_ other: KeychainNote) -> Bool {
        kind == other.kind || movingKind != nil && movingKind == other.movingKind
    }
}
