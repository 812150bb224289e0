import Foundation

/// One item of another program. Whatever the name of the key, its value is that item's bytes, as
/// ``SettingSerializer/data`` has them.
struct ForeignStore: SettingsStore {
    let item: ForeignSecret

    func read(_ name: String) async throws -> StoredValue? {
        try await item.read().map {
            StoredValue(SerializedValue(serializer: "data", version: 1, bytes: $0), updatedAt: 0)
        }
    }

    func update(
        _ name: String, keys: KeyAccess, _ body: @escaping @Sendable (ValueReader, KeySet) throws -> StoredChange
    ) async throws {
        let stored = try await read(name)
        switch try body({ stored }, .none) {
        case .keep: return
        case .remove: try await item.remove()
        case .put:
            throw SettingsError(
                .readOnly, "\(item.id) is another program's item, a source of migrations. Move the key to .keychain().")
        }
    }

    /// The names are the other program's, and none of ours.
    func summaries() async throws -> [StoredSummary] { [] }

    func stamp(of name: String) async throws -> String? { nil }

    func removeAll() async throws {}
}
