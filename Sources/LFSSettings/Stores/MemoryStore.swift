import Synchronization

/// Values in memory, for tests and previews. They end with the router.
final class MemoryStore: SettingsStore {
    private let values = Mutex<[String: StoredValue]>([:])

    func prepare() async throws {}

    func read(_ name: String) async throws -> StoredValue? { values.withLock { $0[name] } }

    func update(
        _ name: String, keys: KeyAccess, _ body: @escaping @Sendable (ValueReader, KeySet) throws -> StoredChange
    ) async throws {
        let keys = try await keys.keys()
        try values.withLock { values in
            let stored = values[name]
            switch try body({ stored }, keys) {
            case .keep: return
            case .put(let value): values[name] = value
            case .remove: values[name] = nil
            }
        }
    }

    func summaries() async throws -> [StoredSummary] {
        values.withLock { $0 }.map { name, value in
            StoredSummary(
                name: name, byteCount: value.content.bytes.count, serializerVersion: value.content.version,
                updatedAt: value.updatedAt)
        }.sorted { $0.name < $1.name }
    }

    func stamp(of name: String) async throws -> String? { nil }

    func removeAll() async throws { values.withLock { $0 = [:] } }
}
