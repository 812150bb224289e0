import GRDB
import LFSDatabase
import LFSSystem
import LFSTransfer
import Logging
import Synchronization

/// The work after a commit: the queues are read again, the bytes of new rows move into the store, and waiting calls are
/// notified.
///
/// Commits on the app's writer are observed (``CommitObserver``). Commits on other connections are polled.
final class CommitWatch: Sendable {
    private let options: LFSOptions
    private let lifecycle: Lifecycle
    private let observer: CommitObserver
    /// Notified when the observer has recorded a commit.
    private let commits: Signal
    /// Notified when there may be files to delete.
    private let tombstones: Signal
    private let promoter: Promoter
    private let pool: ExecutorPool
    private let hub: EventHub
    private let telemetry: Telemetry
    private let changes: ForeignChanges
    private let clocks: ClockWatch
    /// True if the opening has left files that wait for space in the store, or a suspension has ended.
    let hasMissedFiles = Mutex(false)

    init(
        options: LFSOptions, lifecycle: Lifecycle, observer: CommitObserver, commits: Signal, tombstones: Signal,
        runner: BackgroundRunner, places: FileLocations, pool: ExecutorPool, hub: EventHub, telemetry: Telemetry
    ) {
        self.options = options
        self.lifecycle = lifecycle
        self.observer = observer
        self.commits = commits
        self.tombstones = tombstones
        promoter = Promoter(runner: runner, places: places)
        self.pool = pool
        self.hub = hub
        self.telemetry = telemetry
        changes = ForeignChanges(runner: runner, interval: options.retryInterval)
        clocks = ClockWatch(wallClock: options.wallClock)
    }

    /// Looks at every staged file and every queue at the start of the next ``run()``.
    func missFiles() {
        hasMissedFiles.withLock { $0 = true }
        commits.notify()
    }

    /// Works until a suspension or the stop.
    func run() async {
        var retry = PromotionRetry(retryInterval: options.retryInterval, hasMissed: hasMissedFiles.withLock { $0 })
        while !lifecycle.isEnding {
            let pause = options.checkInterval ?? (retry.hasMissed ? options.retryInterval : nil)
            await lifecycle.ending.wait(orFor: commits, atMost: pause, clock: options.clock)
            let committed = observer.takeChanges()
            // A busy writer is polled as rarely as an idle one.
            let isCheckDue = options.checkInterval != nil && (committed.isEmpty || changes.isCheckDue)
            let isForeign = isCheckDue ? await changes.hasChanges() : false
            let isChanged = clocks.clockDidJump() || isForeign
            let hasNews = isChanged || !committed.isEmpty
            if hasNews { wake(committed, isChanged: isChanged) }
            await promote(committed, retry: &retry)
            if hasNews { hub.ringWaiters() }
        }
    }

    private func wake(_ committed: CommitObserver.Changes, isChanged: Bool) {
        // A file that is inserted again, and may be held, was deleted before.
        pool.wake(mayConcernHeld: isChanged || committed.hasDeletions)
        tombstones.notify()
        telemetry.noteQueueChange()
    }

    private func promote(_ committed: CommitObserver.Changes, retry: inout PromotionRetry) async {
        do {
            switch retry.next(committed, at: options.wallClock()) {
            case .nothing: break
            case .all: try await promoter.promoteAll { _, _ in }
            case .rows(let rows):
                for id in try await promoter.promote(rows: rows) { hub.send(.queued(id)) }
            }
            retry.succeeded()
        } catch {
            retry.failed(at: options.wallClock())
            // No file is lost. Every reader finds the bytes in their place, and the next open promotes them.
            options.logger.debug("promotion failed, will retry", metadata: ["error.message": "\(error)"])
        }
    }
}

/// An observer of all commits on the app's writer, by any statement.
///
/// It only collects row ids. GRDB forbids access to the observed connection in the callbacks, and the app's commit must
/// not wait for a disk. The callbacks run on the writer's queue.
final class CommitObserver: TransactionObserver, Sendable {
    private struct State {
        var uncommitted = Changes()
        var committed = Changes()
        var deletions: UInt64 = 0
    }

    /// The changes that were committed since the last call of ``CommitObserver/takeChanges()``.
    struct Changes {
        var insertedRows: [Int64] = []
        /// True if more rows were inserted than are worth recording individually.
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

    /// The number of commits that deleted a file's row. While it is unchanged, every row that existed still exists.
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
            [FileTable.name, JobTable.name, TombstoneTable.name, OwnerlessFileTable.name].contains(table)
        case .delete(let table): table == FileTable.name
        // A deletion that was held may be due now.
        case .update(let table, let columns): table == TombstoneTable.name && columns.contains("isHeld")
        }
    }

    func databaseDidChange(with event: DatabaseEvent) {
        state.withLock { state in
            switch (event.kind, event.tableName == FileTable.name) {
            case (.insert, true) where state.uncommitted.insertedRows.count < Self.rememberedRows:
                state.uncommitted.insertedRows.append(event.rowID)
            case (.insert, true): state.uncommitted.isOverflown = true
            case (.insert, false), (.update, _): state.uncommitted.hasWork = true
            case (.delete, _): state.uncommitted.hasDeletions = true
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
