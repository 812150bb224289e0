import Dispatch
import Synchronization

/// Threads for system calls that block, so that Swift's own few threads never wait for a disk.
///
/// A task may prefer it (SE-0417), and then runs on its threads between its calls too.
///
/// The body of a call must not wait for another call of this pool.
package final class BlockingPool: TaskExecutor {
    /// The pool of this process: threads are the process's, not a manager's, and it holds no data.
    package static let shared = BlockingPool(width: 16)
    /// Threads for reading what somebody else fills, such as a pipe: they may wait for as long as that takes, and
    /// whatever they wait for must not hold up files.
    package static let foreign = BlockingPool(width: 64)
    /// Threads that take what comes from the network: neither whoever is slow to fill a pipe nor a thousand files
    /// that are made may hold them up.
    package static let sinks = BlockingPool(width: 32)
    /// Threads that the tasks of uploads prefer: an app that takes in a thousand files must not hold up those on their
    /// way. A storage may block them, so fewer would hold up others; 4 of them were no cheaper.
    package static let uploads = BlockingPool(width: 16)

    /// Threads that the tasks of downloads prefer, and where they look for what is here already. They write nothing,
    /// and each of more threads would be woken for next to nothing.
    package static let downloads = BlockingPool(width: 4)

    private struct State {
        /// Nil where the work was taken.
        var waiting: [(@Sendable () -> Void)?] = []
        /// The first of those that wait.
        var first = 0
        var threads = 0
        /// Whether the last thread could not be made. Then threads without work leave soon: others may need them.
        var isShort = false
        /// Threads that wait for work and that nobody has called yet.
        var idle = 0

        mutating func next() -> (@Sendable () -> Void)? {
            guard first < waiting.count else { return nil }
            // What it holds goes with the work, also while the queue is never empty.
            let work = waiting[first]
            waiting[first] = nil
            first += 1
            // Half of it at least is done, so that moving the rest costs each work one move or less.
            if first == waiting.count {
                waiting.removeAll(keepingCapacity: first <= Self.keptCapacity)
                first = 0
            } else if first >= Self.keptCapacity, 2 * first >= waiting.count {
                waiting.removeFirst(first)
                first = 0
            }
            return work
        }

        private static let keptCapacity = 256
    }

    /// How long a thread without work stays for the next.
    private static let patience = DispatchTimeInterval.seconds(5)
    private static let shortPatience = DispatchTimeInterval.milliseconds(50)

    private let width: Int
    private let startThread: @Sendable (@escaping @Sendable () -> Void) throws(SystemError) -> Void
    private let state = Mutex(State())
    private let calls = DispatchSemaphore(value: 0)

    /// - Parameter width: how many calls may block at once.
    package convenience init(width: Int) {
        self.init(width: width) { body throws(SystemError) in try SystemThread.start("lfs-io", body) }
    }

    init(
        width: Int, startThread: @escaping @Sendable (@escaping @Sendable () -> Void) throws(SystemError) -> Void
    ) {
        self.width = width
        self.startThread = startThread
    }

    /// Runs the body on a thread of the pool. The body asks the flag whether the calling task was cancelled.
    ///
    /// A task that prefers this pool is on such a thread already, and goes on in place: no other has to be woken.
    /// - Parameter flag: may be set by others as well.
    package func run<Result: Sendable>(
        watching flag: CancellationFlag = CancellationFlag(),
        _ body: @escaping @Sendable (CancellationFlag) throws -> Result
    ) async throws -> Result {
        try await withTaskCancellationHandler {
            try await withTaskExecutorPreference(self) { try body(flag) }
        } onCancel: {
            flag.cancel()
        }
    }

    /// Runs the body some time soon and does not wait for it.
    package func start(_ body: @escaping @Sendable () -> Void) {
        enum Need { case call, thread, nothing }
        let need = state.withLock { state in
            state.waiting.append(body)
            if state.idle > 0 {
                state.idle -= 1
                return Need.call
            }
            guard state.threads < width else { return Need.nothing }
            state.threads += 1
            return Need.thread
        }
        switch need {
        case .call: calls.signal()
        // Not a queue of Dispatch: that adds threads for calls that block only slowly, about one a second.
        case .thread: addThread()
        case .nothing: break
        }
    }

    private func addThread() {
        do throws(SystemError) {
            try startThread { self.work() }
            state.withLock { $0.isShort = false }
        } catch {
            let isLast = state.withLock { state in
                state.isShort = true
                // The others of the pool take the work. The last one is counted on, as the borrowed thread below.
                guard state.threads > 1 else { return true }
                state.threads -= 1
                return false
            }
            // Without a thread of its own the pool borrows one from Dispatch, where Swift's tasks run. A job cannot be
            // refused: its task would never end.
            if isLast { DispatchQueue.global().async { self.workOff() } }
        }
    }

    /// Does what waits on a thread that is not the pool's, and gives that back when nothing is left.
    private func workOff() {
        while let next = nextOrLeave() { next() }
    }

    private func nextOrLeave() -> (@Sendable () -> Void)? {
        state.withLock { state in
            let next = state.next()
            if next == nil { state.threads -= 1 }
            return next
        }
    }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        start { job.runSynchronously(on: self.asUnownedTaskExecutor()) }
    }

    private func work() {
        while let next = nextWork() { withAutoreleasePool(next) }
    }

    /// The next work, nil when none comes for a while; the thread is not counted any more then.
    private func nextWork() -> (@Sendable () -> Void)? {
        while true {
            let (next, patience) = state.withLock { state in
                let next = state.next()
                if next == nil { state.idle += 1 }
                return (next, state.isShort ? Self.shortPatience : Self.patience)
            }
            if let next { return next }
            // Another thread may have taken what this one is called for; then it waits again.
            if calls.wait(timeout: .now() + patience) == .success { continue }
            let leaves = state.withLock { state in
                guard state.idle > 0 else { return false }
                state.idle -= 1
                state.threads -= 1
                return true
            }
            if leaves { return nil }
            // Called at this very moment: the call is on its way.
            calls.wait()
        }
    }
}

/// Tells code on a blocking thread that the task it works for was cancelled.
package final class CancellationFlag: Sendable {
    private let isSet = Atomic(false)

    package init() {}

    package var isCancelled: Bool { isSet.load(ordering: .relaxed) }

    package func check() throws {
        if isCancelled { throw CancellationError() }
    }

    package func cancel() { isSet.store(true, ordering: .relaxed) }
}
