import LFSStorage
import LFSSystem

/// Everything the pool decides, as a value: no clock, no task, no lock. One owner changes it under one lock.
///
/// The rule is that of Realm LFS for .NET: a new executor when more than twice as many items wait as there are
/// executors, up to a maximum; an executor takes items until none is left and then removes itself. "None left, so
/// leave" (``take()``) and "one more, so start" (``enqueue(_:)``) are both decided here, so no item can fall between
/// the two.
///
/// Large files bend the rule in two ways, or a single one would hold up every small file behind it: an executor that
/// is busy with a large file does not count, and the last executor is kept for small files.
///
/// While a reader waits for a download, uploads yield: those under way go on, and one at a time is begun when none
/// runs, so that they are slow then and never stand still.
struct PoolState {
    let maxExecutors: Int
    private var window: [TransferLane: [TransferJob]] = [.small: [], .large: []]
    /// Every job that is in memory, from being queued until its outcome is durable.
    private(set) var held: Set<FileID> = []
    private(set) var running: [FileID: TransferLane] = [:]
    /// The jobs that have ended and whose outcome is not durable yet.
    private(set) var unrecorded: Set<FileID> = []
    private(set) var executors = 0
    var isPaused = false
    /// Whether a condition of the app's for uploads is not met; apart from ``isPaused``, which is a person's.
    var isHeld = false
    /// Whether no upload is begun because somebody wants it so.
    var isWaiting: Bool { isPaused || isHeld }
    /// How often it was asked to leave the network to a reader, less how often that was over. The two calls may come in
    /// either order, so it can be negative for a moment.
    var yields = 0
    var isStopping = false
    /// Set while the storage as a whole is away or refuses everything.
    var outage: Outage?
    private var refusals = Refusals()
    /// Whether a deletion was refused during the outage, and waits to hear that it may ask again.
    var hasRefusedDeletion = false
    /// How many uploads have failed on the storage's side since one succeeded.
    var failuresInARow = 0
    private var lastLane = TransferLane.small

    /// Outcomes that may wait for the database before executors stop taking more.
    static let maxUnrecorded = 512
    static let windowLimit = 256

    init(maxExecutors: Int) {
        self.maxExecutors = max(maxExecutors, 1)
    }

    var isIdle: Bool { held.isEmpty }
    /// The jobs whose uploads run, or have ended and wait for their outcome to be durable.
    var underWay: Set<FileID> { unrecorded.union(running.keys) }
    func count(_ lane: TransferLane) -> Int { window[lane]?.count ?? 0 }
    var queued: Int { TransferLane.allCases.reduce(0) { $0 + count($1) } }

    /// What will be begun next, as far as it is in memory, small files first.
    func upcoming(_ limit: Int) -> [UpcomingUpload] {
        let jobs = TransferLane.allCases.lazy.flatMap { window[$0] ?? [] }
        return jobs.prefix(max(limit, 0)).map { job in
            UpcomingUpload(
                key: job.key, byteCount: job.byteCount, sha256: job.content.sha256,
                contentType: job.content.contentType)
        }
    }

    // MARK: The two decisions

    /// Adds jobs to the window. Returns how many executors have to be started; they count from now on.
    mutating func enqueue(_ jobs: [TransferJob]) -> Int {
        for job in jobs where held.insert(job.id).inserted { window[job.lane, default: []].append(job) }
        return executorsToStart()
    }

    /// The next job for an executor; nil means that the executor has left.
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

    /// An executor leaves without asking for another job.
    mutating func leave() { executors -= 1 }

    /// How many executors the rule asks for beyond those there are. They count from now on.
    mutating func executorsToStart() -> Int {
        let before = executors
        if outage != nil {
            // A probe needs one executor that is free; a busy one may hang for long.
            if runnableCount() > 0, executors == running.count, executors < maxExecutors { executors += 1 }
        } else {
            while executors < maxExecutors, runnableCount() > 2 * (executors - largeRunning) { executors += 1 }
        }
        return executors - before
    }

    // MARK: The end of a job

    /// An executor is done with a job; its outcome is not durable yet. Returns the outcome, which is another one when
    /// what other files met tells that this one alone is to blame.
    mutating func finish(_ outcome: TransferOutcome) -> TransferOutcome {
        running[outcome.job.id] = nil
        unrecorded.insert(outcome.job.id)
        let outcome = refusals.judge(outcome)
        note(outcome.answer, ofProbe: outage?.probe == .upload(outcome.job.id))
        count(outcome)
        return outcome
    }

    /// The outcomes are durable: their jobs leave memory. Returns how many executors have to be started.
    mutating func recorded(_ outcomes: [TransferOutcome]) -> Int {
        for outcome in outcomes {
            held.remove(outcome.job.id)
            unrecorded.remove(outcome.job.id)
        }
        return executorsToStart()
    }

    /// Drops what waits in memory, for a stop: the durable queue still has it.
    mutating func dropWindow() {
        for lane in TransferLane.allCases {
            for job in window[lane] ?? [] { held.remove(job.id) }
            window[lane] = []
        }
    }

    /// Drops those of the jobs that wait. Returns how many did.
    mutating func drop(_ ids: Set<FileID>) -> Int {
        let waiting = ids.intersection(held).subtracting(underWay)
        if waiting.isEmpty { return 0 }
        for lane in TransferLane.allCases { window[lane]?.removeAll { waiting.contains($0.id) } }
        held.subtract(waiting)
        return waiting.count
    }

    // MARK: What may run

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

    /// Where the next job stands in the window.
    private func next() -> (lane: TransferLane, index: Int)? {
        guard let lane = nextLane() else { return nil }
        guard outage != nil else { return (lane, 0) }
        // A probe is to be quick, and to be a file that the storage has not refused by itself yet.
        let lanes = TransferLane.allCases.filter { $0 == .small || mayTakeLarge }
        for lane in lanes {
            if let index = window[lane]?.firstIndex(where: { !refusals.contains($0.id) }) { return (lane, index) }
        }
        return (lanes.first { count($0) > 0 } ?? lane, 0)
    }

    /// One large file is always on its way if one waits; beyond that small files go first, for they are quick.
    private func nextLane() -> TransferLane? {
        guard mayRun else { return nil }
        let hasSmall = count(.small) > 0
        let hasLarge = count(.large) > 0 && mayTakeLarge
        // A single executor takes turns, or one lane would starve the other.
        let isLargeDue = largeRunning == 0 && (maxExecutors > 1 || lastLane == .small)
        if hasLarge, isLargeDue || !hasSmall { return .large }
        return hasSmall ? .small : nil
    }
}
