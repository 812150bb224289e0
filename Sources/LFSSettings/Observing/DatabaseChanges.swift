import GRDB
import LFSSystem
import Synchronization

/// Follows the commits of the host's writer, and tells the hub which settings they changed.
///
/// Owner of what a transaction has changed so far: one mutex, on the writer's queue.
final class DatabaseChanges: TransactionObserver, Sendable {
    private struct Changes {
        var rows: Set<Int64> = []
        var hasGone = false
        var areTooMany = false
        var isReset = false
    }

    /// More rows than these are not told apart.
    private static let mostRows = 500

    private let hub: ChangeHub
    private let changes = Mutex(Changes())

    init(_ hub: ChangeHub) { self.hub = hub }

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool {
        if case .update(SettingsStateTable.name, let columns) = eventKind {
            // Of what the database says of itself only a removal of everything concerns values.
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
                changes.areTooMany = true
            } else {
                changes.rows.insert(event.rowID)
            }
        }
    }

    func databaseDidCommit(_ db: Database) {
        let made = take()
        // Files and secrets go with it: who observes one reads it, and that ends the removal.
        if made.isReset { return hub.notifyAll() }
        if made.areTooMany { return hub.notifyDatabase() }
        // A row that is gone has no name any more.
        if made.hasGone { hub.notifyGone() }
        // Who comes after this commit reads what it has written.
        guard !made.rows.isEmpty, hub.isObserved else { return }
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
