import GRDB
import LFSDatabase

/// Values in the host's database.
struct DatabaseStore: SettingsStore {
    let runner: BackgroundRunner
    /// Whether each change is on the device when its call returns, whatever the host's `synchronous`.
    let isDurable: Bool
    let now: @Sendable () -> Int64

    func read(_ name: String) async throws -> StoredValue? {
        try await runner.read { db in try SettingTable.read(name, db) }
    }

    func update(
        _ name: String, keys: KeyAccess, _ body: @escaping @Sendable (ValueReader, KeySet) throws -> StoredChange
    ) async throws {
        let now = now
        let change: @Sendable (Database) throws -> Void = { db in
            try Self.update(name, keys: keys, keepsNote: false, now: now(), .now, db, body)
        }
        try await keys.retrying {
            if isDurable { try await runner.writeDurably(change) } else { try await runner.write(change) }
        }
    }

    /// As the one above, within a transaction.
    ///
    /// - Throws: ``NoDataKey`` to whoever can have one made, and begin the transaction again.
    /// - Parameters:
    ///   - keepsNote: whether other devices have to hear of a removal.
    ///   - time: when a value counts as set.
    static func update(
        _ name: String, keys: KeyAccess, keepsNote: Bool, now: Int64, _ time: SettingTable.Time, _ db: Database,
        _ body: (ValueReader, KeySet) throws -> StoredChange
    ) throws {
        let set: KeySet =
            switch keys {
            case .none: .none
            case .ring(let ring): try ring.requiredKeys(db)
            }
        switch try body({ try SettingTable.read(name, db) }, set) {
        case .keep: return
        case .put(let value): try SettingTable.write(name, value, time, db)
        case .remove: try SettingTable.remove(name, keepsNote: keepsNote, now: now, time, db)
        }
    }

    func summaries() async throws -> [StoredSummary] {
        try await runner.read(SettingTable.summaries).map {
            StoredSummary(
                name: $0.name, byteCount: $0.byteCount, serializerVersion: $0.version, updatedAt: $0.updatedAt)
        }
    }

    /// The database tells by itself: see DatabaseChanges.
    func stamp(of name: String) async throws -> String? { nil }

    func removeAll() async throws { try await runner.writeDurably(SettingTable.removeAll) }
}
