import Dispatch
import Synchronization

/// A coalescing `fsync`: calls that arrive at about the same time share one.
///
/// Each call is served by a sync that starts after the call. A sync that is already running may have missed the
/// caller's change. The first caller syncs for all callers that wait at that moment. Then the first caller that arrived
/// during this sync leads the next one. The sync runs outside of the lock.
///
/// ``Batcher`` cannot serve it, because that one suspends tasks and these callers block their threads.
final class SharedSync: Sendable {
    private struct State {
        var isRunning = false
        var waiting: [Waiter] = []
    }

    private let state = Mutex(State())
    private let sync: @Sendable () throws(SystemError) -> Void

    init(_ sync: @escaping @Sendable () throws(SystemError) -> Void) {
        self.sync = sync
    }

    /// Blocks the thread. The caller's thread either syncs for all waiting callers or waits for another thread that
    /// does.
    ///
    /// - Throws: the error of the sync, to every caller that it served, because the lost change is unknown.
    func run() throws(SystemError) {
        let waiter = Waiter()
        let leads = state.withLock { state in
            state.waiting.append(waiter)
            defer { state.isRunning = true }
            return !state.isRunning
        }
        switch leads ? .lead : waiter.wait() {
        case .ended(nil): return
        case .ended(let failure?): throw failure
        case .lead: try serve(waiter)
        }
    }

    private func serve(_ leader: Waiter) throws(SystemError) {
        let served = state.withLock { state in
            defer { state.waiting = [] }
            return state.waiting
        }
        var failure: SystemError?
        do throws(SystemError) { try sync() } catch { failure = error }
        let next = state.withLock { state in
            state.isRunning = !state.waiting.isEmpty
            return state.waiting.first
        }
        for waiter in served where waiter !== leader { waiter.tell(.ended(failure)) }
        next?.tell(.lead)
        if let failure { throw failure }
    }

    /// A blocked thread, which continues with the result of a sync or as the leader of the next one.
    private final class Waiter: Sendable {
        enum Signal {
            case ended(SystemError?), lead
        }

        private let word = Mutex<Signal?>(nil)
        private let told = DispatchSemaphore(value: 0)

        func tell(_ word: Signal) {
            self.word.withLock { $0 = word }
            told.signal()
        }

        func wait() -> Signal {
            while true {
                told.wait()
                if let word = word.withLock({ $0 }) { return word }
            }
        }
    }
}
