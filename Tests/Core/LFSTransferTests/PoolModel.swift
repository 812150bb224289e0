import LFSStorage
import LFSSystem
import TestSupport

@testable import LFSTransfer

/// A pool without tasks: the state under test, the expected executors, and the rules that must hold after every step.
struct PoolModel {
    enum Step: CaseIterable, Sendable {
        case enqueueSmall, enqueueLarge, take, succeed, fail, lose, refuse, giveBack, record, allowProbe, pause, resume
        case drop
        case yield, stopYielding
    }

    private(set) var state: PoolState
    /// Executors that will ask for a job next.
    private(set) var free = 0
    private(set) var running: [TransferJob] = []
    private(set) var unrecorded: [TransferOutcome] = []
    private(set) var recorded: [FileID] = []
    private(set) var dropped: Set<FileID> = []
    /// Jobs that were taken during the present outage and still run.
    private var probes: Set<FileID> = []
    private var lastID = 0
    private var hasTakenWhileYielding = false

    init(maxExecutors: Int) {
        state = PoolState(maxExecutors: maxExecutors)
    }

    // MARK: Steps

    /// Performs a step as the pool does, if it is possible now. `pick` chooses among jobs.
    mutating func apply(_ step: Step, pick: Int) {
        switch step {
        case .enqueueSmall: enqueue(pick % 3 + 1, byteCount: 1)
        case .enqueueLarge: enqueue(pick % 2 + 1, byteCount: LargeFile.byteCount)
        case .take: take()
        case .succeed: finish(pick, result: .skipped(.notPending), isProof: true)
        case .fail: finish(pick, result: .failed(StorageError(.tooLarge, message: "")), isProof: false)
        case .lose: finish(pick, result: .waiting(StorageError(.unreachable, message: "")), isProof: false)
        case .refuse: finish(pick, result: .waiting(StorageError(.forbidden, message: "")), isProof: false)
        case .giveBack: finish(pick, result: .givenBack, isProof: false)
        case .record: record()
        case .allowProbe: free += state.allowProbe()
        case .pause: state.isPaused = true
        case .resume:
            state.isPaused = false
            free += state.allowProbe() + state.executorsToStart()
        case .drop: drop(pick)
        case .yield: if state.yields < 2 { state.yields += 1 }
        case .stopYielding:
            if state.yields > 0 { state.yields -= 1 }
            free += state.executorsToStart()
        }
        if state.outage == nil { probes = [] }
    }

    private mutating func enqueue(_ count: Int, byteCount: Int64) {
        let jobs = (1...count).compactMap { _ -> TransferJob? in
            lastID += 1
            guard let key = ObjectKey(listed: "test/\(lastID)") else { return nil }
            return TransferJob(
                id: "\(lastID)", key: key, byteCount: byteCount, content: .ofNothing, attempts: 0, checkpoint: nil)
        }
        free += state.enqueue(jobs)
    }

    private mutating func take() {
        guard free > 0 else { return }
        free -= 1
        let isOut = state.outage != nil
        if let job = state.take() {
            if state.yields > 0, !running.isEmpty { hasTakenWhileYielding = true }
            running.append(job)
            if isOut { probes.insert(job.id) }
        }
        free += state.executorsToStart()
    }

    private mutating func finish(_ pick: Int, result: TransferOutcome.Result, isProof: Bool) {
        guard !running.isEmpty else { return }
        let job = running.remove(at: pick % running.count)
        var result = result
        if isProof, let url = Self.url {
            result = .uploaded(RemoteObject(key: job.key, byteCount: job.byteCount, url: url))
        }
        let outcome = TransferOutcome(job: job, result: result)
        _ = state.finish(outcome)
        probes.remove(job.id)
        unrecorded.append(outcome)
        free += 1
    }

    private mutating func record() {
        let batch = unrecorded
        unrecorded = []
        recorded += batch.map(\.job.id)
        free += state.recorded(batch)
    }

    private mutating func drop(_ pick: Int) {
        let id: FileID = "\(pick % max(lastID, 1) + 1)"
        if state.drop([id]) > 0 { dropped.insert(id) }
    }

    // MARK: Rules

    /// The first rule that is broken, or nil if all rules hold.
    var brokenRule: String? {
        let busyWithLarge = running.count { $0.lane == .large }
        let isOnlyLarge = busyWithLarge == running.count
        let hasSmall = state.count(.small) > 0
        let isFull = state.executors >= state.maxExecutors
        if state.executors != free + running.count { return "each executor is running or will request a job" }
        if state.executors > state.maxExecutors { return "there are at most \(state.maxExecutors) executors" }
        if state.running.count != running.count { return "the running jobs are known" }
        if probes.count > 1 { return "an outage has one probe at a time" }
        if state.maxExecutors > 1, busyWithLarge >= state.maxExecutors { return "one executor is kept for small files" }
        if hasTakenWhileYielding { return "yielding uploads start one job only when none runs" }
        if isRunnable, free == 0, running.isEmpty { return "a job that can run has an executor" }
        if isRunnable, state.outage == nil, hasSmall, free == 0, isOnlyLarge, state.maxExecutors > 1 {
            return "a small file never waits for large ones only"
        }
        if isRunnable, state.outage != nil, free == 0, !isFull { return "a permitted probe has a free executor" }
        return brokenCount
    }

    private var brokenCount: String? {
        let places = state.queued + running.count + unrecorded.count
        if state.underWay != Set(running.map(\.id) + unrecorded.map(\.job.id)) { return "the jobs under way are known" }
        if state.held.count != places { return "each held job is pending, running or not recorded yet" }
        if places + recorded.count + dropped.count != lastID { return "no job is lost" }
        if Set(recorded).count != recorded.count { return "no job is recorded twice" }
        return nil
    }

    private var isRunnable: Bool {
        let isLargeAllowed = running.count { $0.lane == .large } < max(state.maxExecutors - 1, 1)
        guard state.count(.small) > 0 || (state.count(.large) > 0 && isLargeAllowed), !state.isPaused,
            state.unrecorded.count < PoolState.maxUnrecorded, state.yields <= 0 || running.isEmpty
        else { return false }
        return state.outage?.mayProbe ?? true
    }

    /// Lets every job succeed until no step changes anything. Returns the number of jobs that are left.
    mutating func drain() -> Int {
        for step in [Step.resume, .stopYielding, .stopYielding] { apply(step, pick: 0) }
        for _ in 0..<10 * (lastID + 10) {
            for step in [Step.take, .succeed, .record, .allowProbe] { apply(step, pick: 0) }
        }
        return state.held.count
    }

    private static let url = RemoteObject.anywhere
}
