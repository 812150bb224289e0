import Dispatch
import Synchronization

/// A pool of threads for system calls that block, so that Swift's own few threads never wait for a disk.
///
/// A task may prefer the pool as its executor (SE-0417). Then the task also runs on the pool's threads between its
/// calls.
///
/// The body of a call must not wait for another call of the same pool.
package final class BlockingPool: TaskExecutor {
    /// The pool that all managers of the process share. Threads belong to the process, and the pool holds no data.
    package static let shared = BlockingPool(width: 16)
    /// Threads that read data which another program produces, for example from a pipe. Such a read may block for any
    /// time, and must not delay calls on files.
    package static let foreign = BlockingPool(width: 64)
    /// Threads that write data from the network. A slow reader of a pipe must not delay them, and neither must the
    /// creation of a thousand files.
    package static let sinks = BlockingPool(width: 32)
    /// Threads that the tasks of uploads prefer. An app that ingests a thousand files must not delay running uploads. A
    /// storage may block these threads, so with fewer of them one upload could delay others. A pool of 4 threads saved
    /// nothing.
    package static let uploads = BlockingPool(width: 16)

    /// Threads that the tasks of downloads prefer, and that check which files have a local copy already. They write
    /// nothing. Each further thread would have to be woken for very little work.
    package static let downloads = BlockingPool(width: 4)

    /// About as many bytes as a thread can read and hash while another one is woken. Fewer are processed in place. The
    /// engine on libcurl also sends such a body together with the head of its request.
    package static let handoverByteCount: Int64 = 64 << 10

    private struct State {
        /// Pending work in order. The entries before `first` were taken and are nil.
        var waiting: [(@Sendable () -> Void)?] = []
        /// The index of the first entry that was not taken yet.
        var first = 0
        var threads = 0
        /// True if the last attempt to create a thread failed. Then idle threads end early, because other parts of the
        /// system may need them.
        var isShort = false
        /// The number of threads that wait for work and were not woken yet.
        var idle = 0

        mutating func next() -> (@Sendable () -> Void)? {
            guard first < waiting.count else { return nil }
            // Clearing the entry releases what the work retains, even if the queue never becomes empty.
            let work = waiting[first]
            waiting[first] = nil
            first += 1
            // At least half of the array was taken, so moving the rest costs at most one move per entry.
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

    /// The time for which an idle thread waits for more work.
    private static let patience = DispatchTimeInterval.seconds(5)
    private static let shortPatience = DispatchTimeInterval.milliseconds(50)

    private let width: Int
    private let startThread: @Sendable (@escaping @Sendable () -> Void) throws(SystemError) -> Void
    private let state = Mutex(State())
    private let calls = DispatchSemaphore(value: 0)

    /// - Parameter width: the number of calls that may block at once.
    package convenience init(width: Int) {
        self.init(width: width) { body throws(SystemError) in try SystemThread.start("lfs-io", body) }
    }

    init(
        width: Int, startThread: @escaping @Sendable (@escaping @Sendable () -> Void) throws(SystemError) -> Void
    ) {
        self.width = width
        self.startThread = startThread
    }

    /// Runs the body on a thread of the pool. The body checks the flag to learn whether the calling task was cancelled.
    ///
    /// A task that prefers this pool already runs on such a thread. Then the body runs in place, and no other thread is
    /// woken.
    /// - Parameter flag: other code may set it too.
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

    /// Queues the body and returns without waiting for it.
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
        // A queue of Dispatch adds threads for blocking calls only slowly, about one per second.
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
                // The pool's other threads take the work. Without others, the count stays, for the borrowed thread
                // below.
                guard state.threads > 1 else { return true }
                state.threads -= 1
                return false
            }
            // Without any thread the pool borrows one from Dispatch, where Swift's tasks run. A job cannot be rejected,
            // because its task would never end.
            if isLast { DispatchQueue.global().async { self.workOff() } }
        }
    }

    /// Runs the pending work on a thread that does not belong to the pool, and returns when none is left.
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

    /// Returns the next work, or nil if none arrives for a while. The thread is no longer counted then.
    private func nextWork() -> (@Sendable () -> Void)? {
        while true {
            let (next, patience) = state.withLock { state in
                let next = state.next()
                if next == nil { state.idle += 1 }
                return (next, state.isShort ? Self.shortPatience : Self.patience)
            }
            if let next { return next }
            // Another thread may have taken the work that this one was woken for. Then it waits again.
            if calls.wait(timeout: .now() + patience) == .success { continue }
            let leaves = state.withLock { state in
                guard state.idle > 0 else { return false }
                state.idle -= 1
                state.threads -= 1
                return true
            }
            if leaves { return nil }
            // Another thread has just decided to wake this one, so its signal is about to arrive.
            calls.wait()
        }
    }
}

/// A flag that informs code on a blocking thread that its task was cancelled.
package final class CancellationFlag: Sendable {
    private let isSet = Atomic(false)

    package init() {}

    package var isCancelled: Bool { isSet.load(ordering: .relaxed) }

    package func check() throws {
        if isCancelled { throw CancellationError() }
    }

    package func cancel() { isSet.store(true, ordering: .relaxed) }
}
