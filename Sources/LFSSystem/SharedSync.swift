import Dispatch
import Synchronization

/// One `fsync` for all who ask for it at about the same time.
///
/// A call is served by a sync that starts after it came, never by one already under way, because that one
/// may have passed its change by. Whoever comes first syncs for all who wait by then, and the next of those who came
/// meanwhile does the same. The sync itself runs outside of it.
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

    /// Blocks the thread: it is the caller's that syncs, for all who wait, or that waits for another one that does.
    ///
    /// - Throws: what the sync threw, to all who waited for it: which change was lost is not known.
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

    /// A thread that waits to be told how the sync ended, or to lead the next one.
    private final class Waiter: Sendable {
        enum Word {
            case ended(SystemError?), lead
        }

        private let word = Mutex<Word?>(nil)
        private let told = DispatchSemaphore(value: 0)

        func tell(_ word: Word) {
            self.word.withLock { $0 = word }
            told.signal()
        }

        func wait() -> Word {
            while true {
                told.wait()
                if let word = word.withLock({ $0 }) { return word }
            }
        }
    }
}
