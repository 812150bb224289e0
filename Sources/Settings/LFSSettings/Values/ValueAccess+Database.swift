import GRDB
import LFSDatabase
import LFSSystem
import Synchronization

extension ValueAccess {
    /// Runs a transaction. If it needs a data key that is not in memory, the keys are fetched and it runs again.
    ///
    /// - Parameters:
    ///   - isDurable: makes the commit durable. It is also made durable if the body changes a key of full durability.
    ///   - body: reads and writes through the batch that it receives, which notes what the commit needs.
    func write<Result: Sendable>(
        isDurable: Bool = false, _ body: @escaping @Sendable (SettingsBatch) throws -> Result
    ) async throws -> Result {
        let needs = BatchNeeds()
        var access = self
        access.needs = needs
        let transaction: @Sendable (Database) throws -> Result = { [access] db in
            let result = try body(SettingsBatch(database: db, access: access))
            // Also when the body continues without a value that it could not read.
            if needs.lacksKeys { throw NoDataKey() }
            return result
        }
        while true {
            do {
                if isDurable { return try await runner.writeDurably(transaction) }
                let result = try await runner.write(transaction)
                // A durable commit makes all earlier commits durable too.
                if needs.isDurable { try await runner.writeDurably { _ in } }
                return result
            } catch let error where needs.lacksKeys {
                if error is CancellationError { throw error }
                needs.runAgain(isLast: await !fetchKeys())
            }
        }
    }

    /// Returns false if no data key is available. The call that needs one throws.
    private func fetchKeys() async -> Bool {
        do { return try await !ring.keys().all.isEmpty } catch { return false }
    }

    func put(_ content: SerializedValue, name: String, info: KeyInfo, _ db: Database) throws {
        let keys = try keys(info, db, mayMake: true)
        try SettingTable.write(name, value: try close(content, name: name, info: info, keys: keys), time: time, db)
    }

    /// Records that no value is to be migrated to a key any more. The next open only removes the sources.
    func noteRemoved(_ info: KeyInfo, _ db: Database) throws {
        let sources = info.migrationKeys().map(\.sourceID)
        guard info.migrate != nil, !sources.isEmpty else { return }
        try MigrationTable.noteRemoved(info.name, sources: sources, now: now(), db)
    }

    /// Removes all rows, and cancels all migrations. Files and secrets are removed later.
    func beginReset(_ db: Database) throws {
        try SettingsReset.begin(db)
        for entry in registry.all { try noteRemoved(entry.info, db) }
    }

    /// Returns the data keys for a value, which a transaction of the app may make.
    func keys(_ info: KeyInfo, _ db: Database, mayMake: Bool = false) throws -> KeySet {
        guard info.security != .none else { return .none }
        if let needs, try ring.lacksKeys(db), needs.noteLackingKeys() { throw NoDataKey() }
        return try ring.keys(db, mayMake: mayMake)
    }
}

/// The needs of a transaction that become known while it runs: a data key that is not in memory, or a durable commit.
///
/// One mutex owns its state.
final class BatchNeeds: Sendable {
    private struct State {
        var isDurable = false
        var lacksKeys = false
        var isLast = false
    }

    private let state = Mutex(State())

    var isDurable: Bool { state.withLock { $0.isDurable } }
    var lacksKeys: Bool { state.withLock { $0.lacksKeys } }

    func noteDurable() { state.withLock { $0.isDurable = true } }

    /// - Returns: true if the transaction has to be rolled back, and run again with the keys.
    func noteLackingKeys() -> Bool {
        state.withLock { state in
            if state.isLast { return false }
            state.lacksKeys = true
            return true
        }
    }

    /// - Parameter isLast: true if the next run uses only the keys that are available.
    func runAgain(isLast: Bool) { state.withLock { $0 = State(isLast: isLast) } }
}
