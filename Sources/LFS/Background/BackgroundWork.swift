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
    let commits: CommitWatch
    private let options: LFSOptions
    private let lifecycle: Lifecycle
    private let places: FilePlaces
    private let pool: ExecutorPool
    private let runner: BackgroundRunner
    private let downloads: DownloadScheduler
    private let deletions: DeletionWorker
    private let uses: UseLog
    private let eviction: AutomaticEviction
    private let gauges: QueueGauges

    init(
        options: LFSOptions, lifecycle: Lifecycle, runner: BackgroundRunner, places: FilePlaces, commits: CommitWatch,
        pool: ExecutorPool, downloads: DownloadScheduler, deletions: DeletionWorker, uses: UseLog,
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

    /// Works until the stop, or until the task is cancelled. When it returns, nothing that it started is left.
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

    /// Asks all of it to end. Returns whether it runs, and so has to.
    @discardableResult
    func requestStop() -> Bool {
        let isRunning = lifecycle.requestStop()
        downloads.halt()
        if isRunning { pool.stop() }
        return isRunning
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
        await forgetHold()
        options.logger.debug("uploading", metadata: ["lfs.storage": "\(options.storage.capabilities.kind)"])
        await withTaskGroup(of: Void.self) { tasks in
            let timeout = options.shutdownTimeout
            tasks.addTask { await self.pool.run(gracePeriod: timeout) }
            tasks.addTask { await self.untilStopped(gracePeriod: timeout) { await self.deletions.run() } }
            await tasks.waitForAll()
        }
    }

    /// Clears what an earlier process has waited for; this one says for itself.
    private func forgetHold() async {
        let pool = pool
        do {
            try await runner.write { db in
                if !pool.isHeld { try StateTable.noteHold(nil, now: 0, db) }
            }
        } catch {
            // It is for the app's status only.
            options.logger.notice("the hold of an earlier start stays noted", metadata: ["error.message": "\(error)"])
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
