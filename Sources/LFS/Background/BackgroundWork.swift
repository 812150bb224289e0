import LFSDatabase
import LFSFiles
import LFSStorage
import LFSSystem
import LFSTransfer
import Logging
import Synchronization

/// Everything that goes on by itself between a start and a stop: promoting what is committed, uploading, deleting,
/// writing down uses and evicting. One loop for each, all of them within one task group.
final class BackgroundWork: Sendable {
    private let options: LFSOptions
    private let lifecycle: Lifecycle
    private let runner: BackgroundRunner
    private let places: FilePlaces
    private let observer: CommitObserver
    private let hub: EventHub
    private let pool: ExecutorPool
    private let downloads: DownloadScheduler
    private let deletions: DeletionWorker
    private let uses: UseLog
    private let eviction: AutomaticEviction
    /// Rings when something was committed on the host's writer.
    private let commits: Signal
    /// Rings when there may be something to delete.
    private let tombstones: Signal
    private let telemetry: Telemetry
    private let gauges: QueueGauges
    private let changes: ForeignChanges
    private let clocks: ClockWatch
    /// Whether the opening has left files that wait for room in the store.
    let hasMissedFiles = Mutex(false)

    init(
        options: LFSOptions, lifecycle: Lifecycle, runner: BackgroundRunner, places: FilePlaces,
        observer: CommitObserver, hub: EventHub, pool: ExecutorPool, downloads: DownloadScheduler,
        deletions: DeletionWorker, uses: UseLog, eviction: AutomaticEviction, commits: Signal, tombstones: Signal,
        telemetry: Telemetry
    ) {
        self.options = options
        self.lifecycle = lifecycle
        self.runner = runner
        self.places = places
        self.observer = observer
        self.hub = hub
        self.pool = pool
        self.downloads = downloads
        self.deletions = deletions
        self.uses = uses
        self.eviction = eviction
        self.commits = commits
        self.tombstones = tombstones
        self.telemetry = telemetry
        gauges = QueueGauges(
            instruments: telemetry.instruments, runner: runner, pool: pool, stop: lifecycle.stop,
            isStopRequested: { lifecycle.isStopRequested }, clock: options.clock, wallClock: options.wallClock,
            logger: options.logger)
        changes = ForeignChanges(runner: runner)
        clocks = ClockWatch(wallClock: options.wallClock)
    }

    /// Works until the stop, or until the task is cancelled. When it returns, nothing that it started is left.
    func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { await self.watchCommits() }
            tasks.addTask { try await self.lead() }
            tasks.addTask { await self.keepUses() }
            tasks.addTask { await self.gauges.run() }
            tasks.addTask { await self.untilStopped(gracePeriod: .zero) { await self.keepWithinPolicy() } }
            tasks.addTask { await self.untilStopped(gracePeriod: .zero) { await self.lookForCopies() } }
            try await withTaskCancellationHandler {
                do {
                    while try await tasks.next() != nil {}
                } catch {
                    requestStop()
                    throw error
                }
            } onCancel: {
                requestStop()
            }
        }
    }

    /// Asks all of it to end. Returns whether it runs, and so has to.
    @discardableResult
    func requestStop() -> Bool {
        let isRunning = lifecycle.requestStop()
        downloads.halt()
        if isRunning { pool.stop() }
        return isRunning
    }

    // MARK: Commits

    /// Promotes the files of each commit and passes the news on. Asks from time to time as well whether somebody else
    /// has changed the database: commits on other connections are not heard.
    private func watchCommits() async {
        let promoter = Promoter(runner: runner, places: places)
        var retry = PromotionRetry(pollInterval: options.pollInterval, hasMissed: hasMissedFiles.withLock { $0 })
        while !lifecycle.isStopRequested {
            await lifecycle.stop.wait(orFor: commits, atMost: options.pollInterval, clock: options.clock)
            let committed = observer.takeChanges()
            // Only while nobody commits here, so that a busy writer is not asked in between.
            let isForeign = committed.isEmpty ? await changes.areThere() : false
            let isChanged = clocks.wereSet() || isForeign
            let hasNews = isChanged || !committed.isEmpty
            if hasNews {
                // A file that is inserted again, and may be held, was deleted before.
                pool.wake(mayConcernHeld: isChanged || committed.hasDeletions)
                tombstones.notify()
                telemetry.noteQueueChange()
            }
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
                // Nothing is lost: whoever needs the bytes finds them where they are, and the next open promotes them.
                options.logger.debug("promotion failed, will retry", metadata: ["error.message": "\(error)"])
            }
            if hasNews { hub.ringWaiters() }
        }
    }

    // MARK: Local copies

    /// Writes down which files were used, a while after the first use that is not written yet.
    private func keepUses() async {
        while !lifecycle.isStopRequested {
            await lifecycle.stop.wait(orFor: uses.hasNotes, atMost: nil, clock: options.clock)
            await lifecycle.stop.wait(atMost: options.useInterval, clock: options.clock)
            // What is noted from here on is the stop's.
            if !lifecycle.isStopRequested { await writeUses() }
        }
    }

    /// Writes down what is noted now.
    func writeUses() async {
        do {
            try await uses.flush()
        } catch {
            // It is a hint to what may be evicted first; the notes are kept, and the next flush tries again.
            options.logger.debug("last uses not written", metadata: ["error.message": "\(error)"])
        }
    }

    /// Evicts whenever something has come, or may go.
    private func keepWithinPolicy() async {
        while !lifecycle.isStopRequested {
            await lifecycle.stop.wait(orFor: places.ledger.changed, atMost: nil, clock: options.clock)
            if !lifecycle.isStopRequested { await eviction.makeRoomIfPossible() }
        }
    }

    /// Other processes bring and take copies too, and with time a copy is no longer a recent one.
    private func lookForCopies() async {
        while !lifecycle.isStopRequested {
            await eviction.refill()
            let interval = eviction.isActive ? options.evictionInterval : nil
            await lifecycle.stop.wait(orFor: eviction.policyChanged, atMost: interval, clock: options.clock)
        }
    }

    // MARK: The storage

    /// Waits until no other process uploads for this database, then does it until the stop.
    private func lead() async throws {
        let lock = places.store.uploaderLock
        while !lifecycle.isStopRequested {
            if try lock.tryLock(.exclusive) {
                await offload()
                return try lock.unlock()
            }
            await lifecycle.stop.wait(atMost: options.pollInterval, clock: options.clock)
        }
    }

    private func offload() async {
        options.logger.debug("uploading", metadata: ["lfs.storage": "\(options.storage.capabilities.kind)"])
        await withTaskGroup(of: Void.self) { tasks in
            let timeout = options.shutdownTimeout
            tasks.addTask { await self.pool.run(gracePeriod: timeout) }
            tasks.addTask { await self.untilStopped(gracePeriod: timeout) { await self.delete() } }
            await tasks.waitForAll()
        }
    }

    private func delete() async {
        while !lifecycle.isStopRequested {
            var wait: Duration?
            do {
                wait = try await deletions.run { self.lifecycle.isStopRequested }
            } catch {
                options.logger.debug("deleting failed, will retry", metadata: ["error.message": "\(error)"])
                wait = options.pollInterval
            }
            await lifecycle.stop.wait(orFor: tombstones, atMost: wait, clock: options.clock)
        }
    }

    /// Does the work to its end. After a stop it has the grace period to end by itself, then it is cancelled.
    private func untilStopped(gracePeriod: Duration, _ work: @escaping @Sendable () async -> Void) async {
        let (stop, clock) = (lifecycle.stop, options.clock)
        await race(
            work,
            {
                await stop.wait()
                await clock.wait(for: gracePeriod)
            })
    }
}
