import Foundation

/// A store for one item of another program. Under any name of a key, the value is the item's bytes, in the form of
/// ``SettingSerializer/data``.
struct ExternalStore: SettingsStore {
    let item: ForeignSecret

    func read(_ name: String) async throws -> StoredValue? {
        try await item.read().map {
            StoredValue(SerializedValue(serializer: "data", version: 1, bytes: $0), updatedAt: 0)
        }
    }

    func update(
        _ name: String, ring: KeyRing?, _ body: @escaping @Sendable (ValueReader, KeySet) throws -> StoredChange
    ) async throws {
        let stored = try await read(name)
        switch try body({ stored }, .none) {
        case .keep: return
        case .remove: try await item.remove()
        case .put:
            throw SettingsError(
                .readOnly,
                message: """
                    \(item.id) is another program's item, which is only a source of migrations. Move the key to \
                    .keychain().
                    """)
        }
    }

    /// The item belongs to the other program, so it is not listed.
    func summaries() async throws -> [StoredSummary] { [] }

    func stamp(of name: String) async throws -> String? { nil }

    func removeAll() async throws {}
}
