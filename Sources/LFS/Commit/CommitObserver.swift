import GRDB
import LFSDatabase
import Synchronization

/// Hears what commits on the host's writer, by whatever statement. It collects row ids and does nothing else: GRDB
/// forbids to touch the observed connection here, and the host's commit must not wait for a disk.
///
/// The callbacks run on the writer's queue.
final class CommitObserver: TransactionObserver, Sendable {
    private struct State {
        var uncommitted = Changes()
        var committed = Changes()
        var deletions: UInt64 = 0
    }

    /// What has been committed since the last look.
    struct Changes {
        var insertedRows: [Int64] = []
        /// More rows were inserted than are worth remembering one by one.
        var isOverflown = false
        var hasDeletions = false
        var hasWork = false

        var isEmpty: Bool { insertedRows.isEmpty && !isOverflown && !hasDeletions && !hasWork }
    }

    private static let rememberedRows = 10_000

    private let state = Mutex(State())
    private let onCommit: @Sendable () -> Void

    init(onCommit: @escaping @Sendable () -> Void) {
        self.onCommit = onCommit
    }

    /// Counts the commits in which a file's row was deleted: as long as it stays the same, a row that was there is
    /// there.
    var deletions: UInt64 { state.withLock { $0.deletions } }

    func takeChanges() -> Changes {
        state.withLock { state in
            defer { state.committed = Changes() }
            return state.committed
        }
    }

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool {
        switch eventKind {
        case .insert(let table):
            [FileTable.name, JobTable.name, TombstoneTable.name, DisownedTable.name].contains(table)
        case .delete(let table): table == FileTable.name
        case .update: false
        }
    }

    func databaseDidChange(with event: DatabaseEvent) {
        state.withLock { state in
            switch (event.kind, event.tableName == FileTable.name) {
            case (.insert, true) where state.uncommitted.insertedRows.count < Self.rememberedRows:
                state.uncommitted.insertedRows.append(event.rowID)
            case (.insert, true): state.uncommitted.isOverflown = true
            case (.insert, false): state.uncommitted.hasWork = true
            case (.delete, _): state.uncommitted.hasDeletions = true
            default: break
            }
        }
    }

    func databaseDidCommit(_ db: Database) {
        let hasChanged = state.withLock { state in
            let changes = state.uncommitted
            state.uncommitted = Changes()
            if changes.isEmpty { return false }
            if changes.hasDeletions { state.deletions += 1 }
            state.committed.insertedRows += changes.insertedRows
            state.committed.isOverflown =
                state.committed.isOverflown || changes.isOverflown
                || state.committed.insertedRows.count > 4 * Self.rememberedRows
            if state.committed.isOverflown { state.committed.insertedRows = [] }
            state.committed.hasDeletions = state.committed.hasDeletions || changes.hasDeletions
            state.committed.hasWork = state.committed.hasWork || changes.hasWork
            return true
        }
        if hasChanged { onCommit() }
    }

    func databaseDidRollback(_ db: Database) {
        state.withLock { $0.uncommitted = Changes() }
    }
}
