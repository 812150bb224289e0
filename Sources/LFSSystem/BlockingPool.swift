import Dispatch
import Synchronization

/// Threads for system calls that block, so that Swift's own few threads never wait for a disk.
///
/// Owner of its state: the mutex. The body of a call must not wait for another call of this pool.
package final class BlockingPool: Sendable {
    /// The pool of this process: threads are the process's, not a manager's, and it holds no data.
    package static let shared = BlockingPool(width: 16)
    /// Threads for reading what somebody else fills, such as a pipe: they may wait for as long as that takes, and
    /// whatever they wait for must not hold up files.
    package static let foreign = BlockingPool(width: 64)

    private struct State {
        var busy = 0
        var waiting: [@Sendable () -> Void] = []
    }

    private let width: Int
    private let state = Mutex(State())
    private let queue = DispatchQueue(label: "lfs.blocking", attributes: .concurrent)

    /// - Parameter width: how many calls may block at once.
    package init(width: Int) {
        self.width = width
    }

    /// Runs the body on a thread of the pool. The body asks the flag whether the calling task was cancelled.
    package func run<Result: Sendable>(
        _ body: @escaping @Sendable (CancellationFlag) throws -> Result
    ) async throws -> Result {
        let flag = CancellationFlag()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                start { continuation.resume(with: Swift.Result { try body(flag) }) }
            }
        } onCancel: {
            flag.cancel()
        }
    }

    /// Runs the body some time soon and does not wait for it.
    func start(_ body: @escaping @Sendable () -> Void) {
        let isFree = state.withLock { state in
            guard state.busy < width else {
                state.waiting.append(body)
                return false
            }
            state.busy += 1
            return true
        }
        if isFree { queue.async { self.work(body) } }
    }

    private func work(_ first: @Sendable () -> Void) {
        first()
        while let next = next() { next() }
    }

    private func next() -> (@Sendable () -> Void)? {
        state.withLock { state in
            if state.waiting.isEmpty {
                state.busy -= 1
                return nil
            }
            return state.waiting.removeFirst()
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
