package import LFSStorage
import LFSSystem
import Synchronization

/// A pool of workers that upload the jobs of the durable queue. Their number adapts to the queue.
///
/// ```
/// journal ─ page ─> feeder ─ enqueue ─> PoolState ─ take ─> executors ─ finish ─> recorder ─ record ─> journal
/// ```
///
/// One mutex around ``PoolState`` owns the state and is never held across a call. Every task is a child of ``run()``,
/// and all of them have ended when it returns.
package final class ExecutorPool: Sendable {
    struct Shared {
        var pool: PoolState
        var outcomes: [TransferOutcome] = []
        /// The lanes for which the journal may contain more due jobs than the pool has read.
        var mayHaveMore: Set<TransferLane> = Set(TransferLane.allCases)
        /// The jobs that were in memory when the journal changed in a way that may concern them.
        var heldAtChange: Set<FileID> = []
        /// The number of reads of the journal.
        var reads = 0
        /// The running executors by their job.
        var atWork: [FileID: ExecutorCancellation] = [:]
        var executorsHaveEnded = false
        /// The outage that was reported last.
        var told: StorageError?
        /// Opens when the current run has to stop.
        var halt = Latch()
        /// The numbers of executors to start in the current run.
        var starts = AsyncStream<Int>.makeStream()
    }

    private let executor: Executor
    let journal: any TransferJournal
    let policy: RetryPolicy
    let grouping: Duration
    let clock: any Clock<Duration>
    private let threads: UploadThreads
    let events: @Sendable (TransferEvent) -> Void
    let shared: Mutex<Shared>
    let feed = Signal()
    let record = Signal()
    let outage = Signal()

    /// - Parameters:
    ///   - grouping: the time that an outcome may wait to be recorded together with others, while more are expected.
    ///   - attempt: wraps each attempt to upload a file.
    package init(
        storage: any RemoteStorage, journal: any TransferJournal, maxExecutors: Int,
        policy: RetryPolicy = RetryPolicy(), grouping: Duration = .zero,
        clock: any Clock<Duration> = ContinuousClock(),
        attempt: @escaping UploadAttempt = { _, body in try await body() },
        events: @escaping @Sendable (TransferEvent) -> Void = { _ in }
    ) {
        self.journal = journal
        self.policy = policy
        self.grouping = grouping
        self.clock = clock
        threads = UploadThreads(storage)
        self.events = events
        executor = Executor(storage: storage, journal: journal, policy: policy, events: events, attempt: attempt)
        shared = Mutex(Shared(pool: PoolState(maxExecutors: maxExecutors)))
    }

    // MARK: Life cycle

    /// Uploads until ``stop()`` is called or the task is cancelled. A cancellation gives running uploads back at once.
    /// May run again after ``reopen()``.
    ///
    /// - Parameter gracePeriod: the time that running uploads may continue after a stop before they are given back. Nil
    ///   sets no limit.
    package func run(gracePeriod: Duration? = .seconds(10)) async {
        await withTaskGroup(of: Void.self) { tasks in
            tasks.addTask { await self.runFeeder() }
            tasks.addTask { await self.runProber() }
            tasks.addTask { await self.runExecutors(gracePeriod) }
            tasks.addTask { await self.runRecorder() }
            await withTaskCancellationHandler {
                await tasks.waitForAll()
            } onCancel: {
                stop()
                cancelAll()
            }
        }
    }

    /// Stops accepting jobs. ``run()`` returns when the running uploads have ended or were given back.
    package func stop() {
        let (start, halt) = shared.withLock { shared in
            shared.pool.isStopping = true
            shared.pool.dropWindow()
            return (shared.starts.continuation, shared.halt)
        }
        start.finish()
        halt.open()
        for signal in [feed, record, outage] { signal.notify() }
    }

    /// Prepares another run after a stop. No run may be in progress. A pause and a hold stay.
    package func reopen() {
        shared.withLock { shared in
            shared.pool.restart()
            shared.outcomes = []
            shared.mayHaveMore = Set(TransferLane.allCases)
            shared.heldAtChange = []
            shared.executorsHaveEnded = false
            shared.halt = Latch()
            shared.starts = AsyncStream.makeStream()
        }
    }

    var halt: Latch { shared.withLock { $0.halt } }

    // MARK: Feeder

    private func runFeeder() async {
        while !isStopping {
            var wait: Duration?
            do {
                for lane in TransferLane.allCases {
                    if let due = try await refill(lane) { wait = min(wait ?? due, due) }
                }
            } catch {
                events(.journalFailed(error))
                // The database could not be read. The next attempt follows after a delay.
                wait = policy.delay(afterFailures: 6, StorageError(wrapping: error))
            }
            if !isStopping { await feed.wait(atMost: wait, clock: clock) }
        }
    }

    /// Refills the window when it runs low. Returns the time until the lane's next job is due.
    private func refill(_ lane: TransferLane) async throws -> Duration? {
        let held: Set<FileID>? = shared.withLock { shared in
            let isLow = shared.pool.count(lane) < PoolState.windowLimit / 2
            guard shared.mayHaveMore.contains(lane), isLow, !shared.pool.isStopping else { return nil }
            shared.mayHaveMore.remove(lane)
            shared.reads += 1
            return shared.pool.held
        }
        guard let held else { return nil }
        let page: TransferPage
        do {
            page = try await journal.page(lane, limit: PoolState.windowLimit, excluding: held)
        } catch {
            shared.withLock { _ = $0.mayHaveMore.insert(lane) }
            throw error
        }
        let (count, isIdle) = shared.withLock { shared in
            if page.jobs.count == PoolState.windowLimit { shared.mayHaveMore.insert(lane) }
            if shared.pool.isStopping { return (0, shared.pool.isIdle) }
            return (shared.pool.enqueue(page.jobs), shared.pool.isIdle)
        }
        launch(count)
        if isIdle { events(.idle) }
        if page.nextDue != nil { shared.withLock { _ = $0.mayHaveMore.insert(lane) } }
        return page.nextDue
    }

    var isStopping: Bool { shared.withLock { $0.pool.isStopping } }

    // MARK: Executors

    func launch(_ count: Int) {
        if count > 0 { shared.withLock { $0.starts.continuation }.yield(count) }
    }

    private func runExecutors(_ gracePeriod: Duration?) async {
        let end = Signal()
        let starts = shared.withLock { $0.starts.stream }
        await withTaskGroup(of: Void.self) { watch in
            watch.addTask {
                await self.halt.wait()
                await end.wait(atMost: gracePeriod, clock: self.clock)
                self.cancelAll()
            }
            // A discarding group, because an ordinary one keeps every finished executor until its result is read.
            await withDiscardingTaskGroup { executors in
                // The loop ends with the stream, and therefore also in a cancelled task.
                for await count in starts {
                    for _ in 0..<count {
                        executors.addTask(executorPreference: threads.ofExecutors) { await self.runExecutor() }
                    }
                }
            }
            end.notify()
        }
        // No executor runs any more. The recorder may end once it has saved the remaining outcomes.
        shared.withLock { $0.executorsHaveEnded = true }
        record.notify()
    }

    private func cancelAll() {
        shared.withLock { shared in
            for cancellation in shared.atWork.values { cancellation.cancel() }
        }
    }

    /// Runs one executor: it takes jobs until none is left, or until one of them is cancelled. Then the whole executor
    /// ends, and another one starts if jobs wait. A separate task for each job would cost more than a small upload
    /// itself.
    private func runExecutor() async {
        let cancellation = ExecutorCancellation()
        await race({ await cancellation.wait() }, { await self.work(cancellation) })
    }

    private func work(_ cancellation: ExecutorCancellation) async {
        while let job = take(cancellation) {
            let outcome = await threads.run(job) {
                await executor.run(
                    job, upcoming: { limit in self.shared.withLock { $0.pool.upcoming(limit) } },
                    onAccepted: { self.accepted(job) })
            }
            let (isOver, count, isAway) = shared.withLock { shared in
                shared.atWork[job.id] = nil
                let wasAway = shared.pool.outage != nil
                shared.outcomes.append(shared.pool.finish(outcome))
                let isAway = wasAway || shared.pool.outage != nil
                guard cancellation.isCancelled else { return (false, 0, isAway) }
                shared.pool.leave()
                return (true, shared.pool.executorsToStart(), isAway)
            }
            record.notify()
            if isAway { outage.notify() }
            launch(count)
            if isOver { return }
        }
    }

    private func accepted(_ job: TransferJob) {
        let (count, isOver) = shared.withLock { shared in
            let before = shared.pool.outage != nil
            return (shared.pool.accepted(job.id), before && shared.pool.outage == nil)
        }
        if isOver { noteOutage(count) }
    }

    private func take(_ cancellation: ExecutorCancellation) -> TransferJob? {
        let (job, count, isLow, isIdle) = shared.withLock { shared in
            let job = shared.pool.take()
            if let job { shared.atWork[job.id] = cancellation }
            // The recorder may have reported an idle pool while its last executor was leaving.
            let isIdle = job == nil && shared.pool.executors == 0 && shared.pool.isIdle
            let isLow = TransferLane.allCases.contains {
                shared.mayHaveMore.contains($0) && shared.pool.count($0) == PoolState.windowLimit / 2 - 1
            }
            // Taking a large file permits one more executor for small files.
            return (job, shared.pool.executorsToStart(), isLow, isIdle)
        }
        launch(count)
        if isLow { feed.notify() }
        if isIdle { events(.idle) }
        return job
    }

    // MARK: Recorder

    /// Saves outcomes. Those that arrive while one batch is being saved form the next batch.
    private func runRecorder() async {
        var failures = 0
        await forgetOutage()
        while true {
            if hasMoreToCome { await halt.wait(atMost: grouping, clock: clock) }
            let (batch, isOver, reads) = shared.withLock { ($0.outcomes, $0.executorsHaveEnded, $0.reads) }
            if batch.isEmpty {
                await tellOutage()
                if isOver { return }
                await record.waitThroughCancellation()
                continue
            }
            do {
                let discarded = try await journal.record(batch)
                failures = 0
                settle(batch, discarded: discarded, reads: reads)
                await tellOutage()
            } catch {
                events(.journalFailed(error))
                failures += 1
                // The database is busy or full. The uploads are complete, and only their rows are missing. After a
                // stop, one more attempt must be enough. The durable queue still contains these jobs, and uploading
                // them again is harmless.
                if isOver, failures > 1 { return }
                if isOver { continue }
                await waitToRecordAgain(failures, error: StorageError(wrapping: error))
            }
        }
    }

    /// True if a small batch may wait, because a commit costs about the same for one outcome as for fifty.
    private var hasMoreToCome: Bool {
        guard grouping > .zero else { return false }
        return shared.withLock { shared in
            (1..<64).contains(shared.outcomes.count) && !shared.pool.isStopping
                && (!shared.pool.running.isEmpty || shared.pool.queued > 0)
        }
    }

    private func waitToRecordAgain(_ failures: Int, error: StorageError) async {
        if isStopping { return await record.waitThroughCancellation() }
        await halt.wait(atMost: policy.delay(afterFailures: failures, error), clock: clock)
    }

    /// - Parameters:
    ///   - discarded: the uploaded files whose rows were deleted in the meantime.
    ///   - reads: the number of reads of the journal when the batch was passed to it.
    private func settle(_ batch: [TransferOutcome], discarded: Set<FileID>, reads: Int) {
        let (count, isIdle, isIncomplete) = shared.withLock { shared in
            shared.outcomes.removeFirst(batch.count)
            let hasRetries = batch.contains { outcome in
                switch outcome.result {
                case .retry, .waiting, .givenBack, .skipped: true
                default: false
                }
            }
            // Reads skip jobs that are in memory, and any of these may have been queued again in the meantime.
            let wasChanged = batch.count { shared.heldAtChange.remove($0.job.id) != nil } > 0
            let isIncomplete = hasRetries || wasChanged || shared.reads != reads
            if isIncomplete { shared.mayHaveMore = Set(TransferLane.allCases) }
            let count = shared.pool.recorded(batch)
            return (count, shared.pool.isIdle, isIncomplete)
        }
        launch(count)
        for outcome in batch { publish(outcome, isDiscarded: discarded.contains(outcome.job.id)) }
        if isIdle || isIncomplete { feed.notify() }
        if isIdle { events(.idle) }
    }

    private func publish(_ outcome: TransferOutcome, isDiscarded: Bool) {
        switch outcome.result {
        case .uploaded where isDiscarded: events(.discarded(id: outcome.job.id))
        case .uploaded(let object): events(.uploaded(id: outcome.job.id, object))
        case .retry(let error, let delay, _): events(.failed(id: outcome.job.id, error, nextAttempt: delay))
        case .failed(let error): events(.failed(id: outcome.job.id, error, nextAttempt: nil))
        // An outage is reported once for the storage, and not for each waiting file.
        case .waiting, .skipped, .givenBack: break
        }
    }
}
