import LFSStorage
import LFSSystem

/// The decisions of the pool as a value, without a clock, a task or a lock. Its single owner changes it under a lock.
///
/// The rule comes from Realm LFS for .NET. A new executor starts when more than twice as many items wait as there are
/// executors, up to a maximum. An executor takes items until none is left and then removes itself. Both decisions are
/// made here, the end in ``take()`` and the start in ``enqueue(_:)``, so no item can be missed between them.
///
/// Two exceptions prevent a single large file from delaying all small files behind it. An executor that is busy with a
/// large file does not count, and the last executor is reserved for small files.
///
/// While a reader waits for a download, uploads yield. Running uploads continue. A new one starts only when none is
/// running, so uploads are slow but never stop.
struct PoolState {
    let maxExecutors: Int
    private var window: [TransferLane: [TransferJob]] = [.small: [], .large: []]
    /// All jobs in memory, from their queueing until their outcome is durable.
    private(set) var held: Set<FileID> = []
    private(set) var running: [FileID: TransferLane] = [:]
    /// The jobs that have ended without a durable outcome yet.
    private(set) var unrecorded: Set<FileID> = []
    private(set) var executors = 0
    var isPaused = false
    /// True if a condition that the app has set for uploads is not met. ``isPaused`` is set by a person instead.
    var isHeld = false
    /// True if uploads must not start, because of a pause or a condition.
    var isWaiting: Bool { isPaused || isHeld }
    /// The number of calls that asked uploads to yield, minus the number of calls that ended it. Both may arrive in
    /// either order, so the number can be negative for a moment.
    var yields = 0
    var isStopping = false
    /// The current outage of the whole storage, if any.
    var outage: Outage?
    private var refusals = Refusals()
    /// True if a deletion was not permitted during the outage and waits to ask again.
    var hasRefusedDeletion = false
    /// The number of uploads that failed because of the storage since the last success.
    var failuresInARow = 0
    private var lastLane = TransferLane.small

    /// The most outcomes that may wait for the database before executors stop taking jobs.
    static let maxUnrecorded = 512
    static let windowLimit = 256

    init(maxExecutors: Int) {
        self.maxExecutors = max(maxExecutors, 1)
    }

    var isIdle: Bool { held.isEmpty }
    /// The jobs whose uploads run, or have ended without a durable outcome yet.
    var underWay: Set<FileID> { unrecorded.union(running.keys) }
    func count(_ lane: TransferLane) -> Int { window[lane]?.count ?? 0 }
    var queued: Int { TransferLane.allCases.reduce(0) { $0 + count($1) } }

    /// Returns the next uploads that are in memory, small files first.
    func upcoming(_ limit: Int) -> [UpcomingUpload] {
        let jobs = TransferLane.allCases.lazy.flatMap { window[$0] ?? [] }
        return jobs.prefix(max(limit, 0)).map { job in
            UpcomingUpload(
                key: job.key, byteCount: job.byteCount, sha256: job.content.sha256,
                contentType: job.content.contentType)
        }
    }

    // MARK: Starting and ending executors

    /// Adds jobs to the window. Returns the number of executors to start, which are counted from now on.
    mutating func enqueue(_ jobs: [TransferJob]) -> Int {
        for job in jobs where held.insert(job.id).inserted { window[job.lane, default: []].append(job) }
        return executorsToStart()
    }

    /// Returns the next job for an executor. Nil means that the executor has left the pool.
    mutating func take() -> TransferJob? {
        guard let (lane, index) = next() else {
            executors -= 1
            return nil
        }
        let job = window[lane, default: []].remove(at: index)
        running[job.id] = lane
        lastLane = lane
        if outage != nil {
            outage?.mayProbe = false
            outage?.probe = .upload(job.id)
        }
        return job
    }

    /// Removes an executor that does not ask for another job.
    mutating func leave() { executors -= 1 }

    /// Returns the number of executors that the rule requires in addition. They are counted from now on.
    mutating func executorsToStart() -> Int {
        let before = executors
        if outage != nil {
            // A probe needs a free executor, because a busy one may hang for a long time.
            if runnableCount() > 0, executors == running.count, executors < maxExecutors { executors += 1 }
        } else {
            while executors < maxExecutors, runnableCount() > 2 * (executors - largeRunning) { executors += 1 }
        }
        return executors - before
    }

    // MARK: The end of a job

    /// Records that an executor has finished a job. Returns the outcome to save, which may differ: the answers for
    /// other files may show that only this file is the cause.
    mutating func finish(_ outcome: TransferOutcome) -> TransferOutcome {
        running[outcome.job.id] = nil
        unrecorded.insert(outcome.job.id)
        let outcome = refusals.judge(outcome)
        note(outcome.answer, ofProbe: outage?.probe == .upload(outcome.job.id))
        count(outcome)
        return outcome
    }

    /// Removes the jobs of durable outcomes from memory. Returns the number of executors to start.
    mutating func recorded(_ outcomes: [TransferOutcome]) -> Int {
        for outcome in outcomes {
            held.remove(outcome.job.id)
            unrecorded.remove(outcome.job.id)
        }
        return executorsToStart()
    }

    /// Drops the waiting jobs during a stop. The durable queue still contains them.
    mutating func dropWindow() {
        for lane in TransferLane.allCases {
            for job in window[lane] ?? [] { held.remove(job.id) }
            window[lane] = []
        }
    }

    /// Forgets the jobs and the outage of an earlier run. The durable queue contains the jobs.
    mutating func restart() {
        dropWindow()
        held = []
        running = [:]
        unrecorded = []
        executors = 0
        outage = nil
        hasRefusedDeletion = false
        isStopping = false
    }

    /// Drops those of the jobs that wait. Returns their number.
    mutating func drop(_ ids: Set<FileID>) -> Int {
        let waiting = ids.intersection(held).subtracting(underWay)
        if waiting.isEmpty { return 0 }
        for lane in TransferLane.allCases { window[lane]?.removeAll { waiting.contains($0.id) } }
        held.subtract(waiting)
        return waiting.count
    }

    // MARK: Selecting jobs

    private var largeRunning: Int { running.values.count { $0 == .large } }

    private var mayTakeLarge: Bool { largeRunning < max(maxExecutors - 1, 1) }

    private var mayRun: Bool {
        if isWaiting || isStopping || unrecorded.count >= Self.maxUnrecorded { return false }
        if isYielding, !running.isEmpty { return false }
        return outage?.mayProbe ?? true
    }

    private var isYielding: Bool { yields > 0 }

    private func runnableCount() -> Int {
        guard mayRun else { return 0 }
        let large = min(count(.large), max(maxExecutors - 1, 1) - largeRunning)
        let all = count(.small) + max(large, 0)
        return outage == nil && !isYielding ? all : min(all, 1)
    }

    /// Returns the position of the next job in the window.
    private func next() -> (lane: TransferLane, index: Int)? {
        guard let lane = nextLane() else { return nil }
        guard outage != nil else { return (lane, 0) }
        // A probe should be quick, and should be a file that the storage has not rejected before.
        let lanes = TransferLane.allCases.filter { $0 == .small || mayTakeLarge }
        for lane in lanes {
            if let index = window[lane]?.firstIndex(where: { !refusals.contains($0.id) }) { return (lane, index) }
        }
        return (lanes.first { count($0) > 0 } ?? lane, 0)
    }

    /// Returns the lane of the next job. If a large file waits, one large file is always running. Otherwise small files
    /// come first, because they are quick.
    private func nextLane() -> TransferLane? {
        guard mayRun else { return nil }
        let hasSmall = count(.small) > 0
        let hasLarge = count(.large) > 0 && mayTakeLarge
        // A single executor alternates between the lanes, so that neither one blocks the other.
        let isLargeDue = largeRunning == 0 && (maxExecutors > 1 || lastLane == .small)
        if hasLarge, isLargeDue || !hasSmall { return .large }
        return hasSmall ? .small : nil
    }
}
