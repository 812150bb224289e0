package import Foundation

/// An item of another program, or of an earlier version of the app, in a store for secrets.
package struct ForeignSecret: Sendable, Hashable {
    /// A description of the item that contains no secret.
    package let id: String
    /// Returns its bytes, or nil if the item does not exist.
    let content: @Sendable () async throws -> Data?
    /// Removes the item, and succeeds if it does not exist.
    let delete: @Sendable () async throws -> Void

    package init(
        id: String, read: @escaping @Sendable () async throws -> Data?,
        remove: @escaping @Sendable () async throws -> Void
    ) {
        self.id = id
        content = read
        delete = remove
    }

    package static func == (left: ForeignSecret, right: ForeignSecret) -> Bool { left.id == right.id }

    package func hash(into hasher: inout Hasher) { hasher.combine(id) }
}

/// Under any name of a key, the value is the item's bytes, in the form of ``SettingSerializer/data``.
extension ForeignSecret: SettingsStore {
    func read(_ name: String) async throws -> StoredValue? {
        try await content().map {
            StoredValue(SerializedValue(serializer: "data", version: 1, bytes: $0), updatedAt: 0)
        }
    }

    func update(
        _ name: String, ring: KeyRing?, _ body: @escaping @Sendable (ValueReader, KeySet) throws -> StoredChange
    ) async throws {
        let stored = try await read(name)
        switch try body({ stored }, .none) {
        case .keep: return
        case .remove: try await delete()
        case .put:
            throw SettingsError(
                .readOnly,
                message: """
                    \(id) is another program's item, which is only a source of migrations. Move the key to \
                    .keychain().
                    """)
        }
    }
}
