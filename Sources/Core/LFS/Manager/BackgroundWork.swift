import LFSDatabase
import LFSFiles
import LFSStorage
import LFSSystem
import LFSTransfer
import Logging
import Synchronization

/// All work that runs automatically between a start and a stop: promoting committed files, uploading, deleting,
/// recording the uses of local copies, and evicting. Each has one loop, all within one task group.
final class BackgroundWork: Sendable {
    let commits: CommitWatch
    private let options: LFSOptions
    private let lifecycle: Lifecycle
    private let places: FileLocations
    private let pool: ExecutorPool
    private let runner: BackgroundRunner
    private let downloads: DownloadScheduler
    private let deletions: DeletionWorker
    private let uses: AccessLog
    private let eviction: AutomaticEviction
    private let gauges: QueueGauges

    init(
        options: LFSOptions, lifecycle: Lifecycle, runner: BackgroundRunner, places: FileLocations,
        commits: CommitWatch,
        pool: ExecutorPool, downloads: DownloadScheduler, deletions: DeletionWorker, uses: AccessLog,
        eviction: AutomaticEviction, telemetry: Telemetry
    ) {
        self.options = options
        self.lifecycle = lifecycle
        self.places = places
        self.pool = pool
        self.runner = runner
        self.downloads = downloads
        self.deletions = deletions
        self.uses = uses
        self.eviction = eviction
        self.commits = commits
        gauges = QueueGauges(
            instruments: telemetry.instruments, runner: runner, pool: pool, stop: lifecycle.stop,
            isStopRequested: { lifecycle.isStopRequested }, clock: options.clock, wallClock: options.wallClock,
            logger: options.logger)
    }

    /// Works until the stop, or until the task is cancelled. When it returns, all tasks that it started have ended.
    func run() async throws {
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { await self.commits.run() }
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

    /// Requests the end of all work. Returns whether work is running that has to end.
    @discardableResult
    func requestStop() -> Bool {
        let isRunning = lifecycle.requestStop()
        downloads.halt()
        if isRunning { pool.stop() }
        return isRunning
    }

    // MARK: Local copies

    /// Writes recorded uses to the database, some time after the first unwritten use.
    private func keepUses() async {
        while !lifecycle.isStopRequested {
            await lifecycle.stop.wait(orFor: uses.hasNotes, atMost: nil, clock: options.clock)
            await lifecycle.stop.wait(atMost: options.useInterval, clock: options.clock)
            // The stop writes the uses that are recorded from now on.
            if !lifecycle.isStopRequested { await writeUses() }
        }
    }

    /// Writes the uses that are recorded now.
    func writeUses() async {
        do {
            try await uses.flush()
        } catch {
            // The uses only affect the order of eviction. They are kept, and the next flush retries.
            options.logger.debug("last uses not written", metadata: ["error.message": "\(error)"])
        }
    }

    /// Evicts whenever a copy was added, or may be evicted.
    private func keepWithinPolicy() async {
        while !lifecycle.isStopRequested {
            await lifecycle.stop.wait(orFor: places.ledger.changed, atMost: nil, clock: options.clock)
            if !lifecycle.isStopRequested { await eviction.makeRoomIfPossible() }
        }
    }

    /// Scans the folder of local copies periodically. Other processes add and remove copies too, and a copy does not
    /// stay recently used.
    private func lookForCopies() async {
        while !lifecycle.isStopRequested {
            await eviction.refill()
            let interval = eviction.isActive ? options.evictionInterval : nil
            await lifecycle.stop.wait(orFor: eviction.policyChanged, atMost: interval, clock: options.clock)
        }
    }

    // MARK: The storage

    /// Waits until no other process uploads for this database, then uploads until the stop.
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
        await forgetHold()
        options.logger.debug("uploading", metadata: ["lfs.storage": "\(options.storage.capabilities.kind)"])
        await withTaskGroup(of: Void.self) { tasks in
            let timeout = options.shutdownTimeout
            tasks.addTask { await self.pool.run(gracePeriod: timeout) }
            tasks.addTask { await self.untilStopped(gracePeriod: timeout) { await self.deletions.run() } }
            await tasks.waitForAll()
        }
    }

    /// Clears the hold that an earlier process recorded, unless this process holds uploads itself.
    private func forgetHold() async {
        let pool = pool
        do {
            try await runner.write { db in
                if !pool.isHeld { try StateTable.noteHold(nil, now: 0, db) }
            }
        } catch {
            // The hold is only information for the app's status.
            options.logger.notice(
                "recorded hold of an earlier start was not cleared", metadata: ["error.message": "\(error)"])
        }
    }

    /// Runs the work to its end. After a stop it has the grace period to end on its own, then it is cancelled.
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
