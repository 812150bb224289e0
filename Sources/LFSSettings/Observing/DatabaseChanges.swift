import GRDB
import LFSSystem
import Synchronization

/// Follows the commits of the host's writer, and tells the hub which settings they changed.
///
/// Owner of what a transaction has changed so far: one mutex, on the writer's queue.
final class DatabaseChanges: TransactionObserver, Sendable {
    private struct Changes {
        var rows: Set<Int64> = []
        var hasRemoved = false
        var hasState = false
    }

    /// More rows than these are not told apart.
    private static let mostRows = 500

    private let hub: ChangeHub
    private let onState: @Sendable () -> Void
    private let changes = Mutex(Changes())

    /// - Parameter onState: called after a commit that changed what the database says of itself.
    init(_ hub: ChangeHub, onState: @escaping @Sendable () -> Void) { (self.hub, self.onState) = (hub, onState) }

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool {
        [SettingTable.name, SettingsStateTable.name].contains(eventKind.tableName)
    }

    func databaseDidChange(with event: DatabaseEvent) {
        changes.withLock { changes in
            guard event.tableName == SettingTable.name else { return changes.hasState = true }
            if event.kind == .delete { changes.hasRemoved = true }
            if changes.rows.count > Self.mostRows {
                changes.hasRemoved = true
            } else {
                changes.rows.insert(event.rowID)
            }
        }
    }

    func databaseDidCommit(_ db: Database) {
        let made = take()
        if made.hasState { onState() }
        // A row that is gone has no name any more.
        if made.hasRemoved { return hub.notifyDatabase() }
        guard !made.rows.isEmpty else { return }
        do {
            hub.notify(try SettingTable.names(ofRows: made.rows, db))
        } catch {
            // Which ones is not known: all look for themselves, and meet the error if it is one of the database.
            hub.notifyDatabase()
        }
    }

    func databaseDidRollback(_ db: Database) { _ = take() }

    private func take() -> Changes {
        changes.withLock { changes in
            defer { changes = Changes() }
            return changes
        }
    }
}
