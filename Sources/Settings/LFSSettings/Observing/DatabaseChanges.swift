import GRDB
import LFSSystem
import Synchronization

/// An observer of commits on the app's writer that notifies the hub of changed settings.
///
/// One mutex owns the changes of the current transaction, on the writer's queue.
final class DatabaseChanges: TransactionObserver, Sendable {
    private struct Changes {
        var rows: Set<Int64> = []
        var hasGone = false
        var isOverflown = false
        var isReset = false
    }

    /// The limit of rows up to which single names are notified.
    private static let mostRows = 500

    private let hub: ChangeHub
    private let changes = Mutex(Changes())

    init(_ hub: ChangeHub) { self.hub = hub }

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool {
        if case .update(SettingsStateTable.name, let columns) = eventKind {
            // In the state table only a removal of all values concerns the observers.
            return columns.contains(SettingsStateTable.resetColumn)
        }
        return eventKind.tableName == SettingTable.name
    }

    func databaseDidChange(with event: DatabaseEvent) {
        changes.withLock { changes in
            guard event.tableName == SettingTable.name else { return changes.isReset = true }
            if event.kind == .delete {
                changes.hasGone = true
            } else if changes.rows.count > Self.mostRows {
                changes.isOverflown = true
            } else {
                changes.rows.insert(event.rowID)
            }
        }
    }

    func databaseDidCommit(_ db: Database) {
        let made = take()
        // Files and secrets are removed too: an observer of one reads it, which finishes the removal.
        if made.isReset { return hub.notifyAll() }
        if made.isOverflown { return hub.notifyDatabase() }
        // The name of a deleted row is no longer known.
        if made.hasGone { hub.notifyGone() }
        // Without observers no names are needed. Later observers read the committed values.
        guard !made.rows.isEmpty, hub.isObserved else { return }
        do {
            hub.notify(try SettingTable.names(ofRows: made.rows, db))
        } catch {
            // The changed names are unknown. All observers read their values, and get the error if the database fails.
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
