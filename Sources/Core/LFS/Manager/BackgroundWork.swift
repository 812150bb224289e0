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
            instruments: telemetry.instruments, runner: runner, pool: pool, ending: { lifecycle.ending },
            clock: options.clock,
            wallClock: options.wallClock, logger: options.logger)
    }

    /// Works until the stop, or until the task is cancelled. When it returns, all tasks that it started have ended.
    ///
    /// A suspension ends the tasks, and its end starts them again.
    func run() async throws {
        try await withTaskCancellationHandler {
            while await lifecycle.beginPeriod() {
                pool.reopen()
                // The request to end it may have come before.
                if lifecycle.isEnding { pool.stop() }
                let result = await Result.catching { try await workThroughPeriod() }
                lifecycle.endPeriod()
                try result.get()
                commits.missFiles()
            }
        } onCancel: {
            requestStop()
        }
    }

    private func workThroughPeriod() async throws {
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask { await self.commits.run() }
            tasks.addTask { try await self.lead() }
            tasks.addTask { await self.keepUses() }
            tasks.addTask { await self.gauges.run() }
            tasks.addTask { await self.untilEnding { await self.keepWithinPolicy() } }
            tasks.addTask { await self.untilEnding { await self.lookForCopies() } }
            tasks.addTask { await self.untilEnding { await self.keepMarks() } }
            do {
                while try await tasks.next() != nil {}
            } catch {
                requestStop()
                throw error
            }
        }
    }

    /// Requests the end of all work. Returns whether work is running that has to end.
    @discardableResult
    func requestStop() -> Bool {
        // The pool stops first: calls that end with the lifecycle may let storage work continue, and no further upload
        // may begin then.
        endPeriod()
        let isRunning = lifecycle.requestStop()
        downloads.halt(for: .stop)
        if isRunning { pool.stop() }
        return isRunning
    }

    /// Stops taking jobs at the request of a suspension or a stop. The work that is running continues.
    func endPeriod() {
        if lifecycle.isRunning { pool.stop() }
    }

    // MARK: Local copies

    /// Writes recorded uses to the database, some time after the first unwritten use.
    private func keepUses() async {
        while !lifecycle.isEnding {
            await lifecycle.ending.wait(orFor: uses.hasNotes, atMost: nil, clock: options.clock)
            await lifecycle.ending.wait(atMost: options.useInterval, clock: options.clock)
            // The suspension or the stop writes the uses that are recorded from now on.
            if !lifecycle.isEnding { await writeUses() }
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
        while !lifecycle.isEnding {
            await lifecycle.ending.wait(orFor: places.ledger.changed, atMost: nil, clock: options.clock)
            if !lifecycle.isEnding { await eviction.makeRoomIfPossible() }
        }
    }

    /// Scans the folder of local copies periodically. Other processes add and remove copies too, and a copy does not
    /// stay recently used.
    private func lookForCopies() async {
        while !lifecycle.isEnding {
            await eviction.refill()
            let interval = eviction.isActive ? options.evictionInterval : nil
            await lifecycle.ending.wait(orFor: eviction.policyChanged, atMost: interval, clock: options.clock)
        }
    }

    /// Sets the marks of all local copies for the backup of the device, and then those of changed ones.
    private func keepMarks() async {
        guard let marks = places.marks else { return }
        let (store, runner) = (places.store, runner)
        await mark { try await marks.refreshAll(store, runner: runner) }
        while !lifecycle.isEnding {
            await lifecycle.ending.wait(orFor: marks.hasNotes, atMost: nil, clock: options.clock)
            await mark { try await marks.refreshNoted(store, runner: runner) }
        }
    }

    private func mark(_ body: () async throws -> Void) async {
        do {
            try await body()
        } catch {
            if Task.isCancelled { return }
            // The next start sets them again.
            options.logger.notice("files not marked for the backup", metadata: ["error.message": "\(error)"])
        }
    }

    // MARK: The storage

    /// Waits until no other process uploads for this database, then uploads and deletes objects until the suspension or
    /// the stop.
    private func lead() async throws {
        let lock = places.store.uploaderLock
        while !lifecycle.isEnding {
            if try lock.tryLock(.exclusive) {
                await offload()
                return try lock.unlock()
            }
            await lifecycle.ending.wait(atMost: options.retryInterval, clock: options.clock)
        }
    }

    private func offload() async {
        await forgetHold()
        options.logger.debug("uploading", metadata: ["lfs.storage": "\(options.storage.capabilities.kind)"])
        await withTaskGroup(of: Void.self) { tasks in
            tasks.addTask { await self.untilOverdue { await self.pool.run(gracePeriod: nil) } }
            tasks.addTask { await self.untilOverdue { await self.deletions.run() } }
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

    /// Runs the work to its end, or cancels it when the period ends.
    private func untilEnding(_ work: @escaping @Sendable () async -> Void) async {
        let ending = lifecycle.ending
        await race(work, { await ending.wait() })
    }

    /// Runs the work to its end. After a stop it has the shutdown timeout to end on its own, and during a suspension
    /// the time of that suspension. Then it is cancelled.
    private func untilOverdue(_ work: @escaping @Sendable () async -> Void) async {
        let (period, stop, options) = (lifecycle.period, lifecycle.stop, options)
        await race(
            work,
            { await period.overdue.wait() },
            {
                await stop.wait()
                await options.clock.wait(for: options.shutdownTimeout)
            })
    }
}
