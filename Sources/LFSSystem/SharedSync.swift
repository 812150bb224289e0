import Synchronization

/// One `fsync` for all who ask for it at about the same time.
///
/// A call is served by a sync that starts after it came, never by one already under way, because that one
/// may have passed its change by. Owner of its state: the mutex; the sync itself runs outside of it.
final class SharedSync: Sendable {
    private struct State {
        var isRunning = false
        var waiting: [CheckedContinuation<SystemError?, Never>] = []
    }

    private let state = Mutex(State())
    private let sync: @Sendable () throws(SystemError) -> Void

    init(_ sync: @escaping @Sendable () throws(SystemError) -> Void) {
        self.sync = sync
    }

    func run(on threads: BlockingPool = .shared) async throws(SystemError) {
        let failure = await withCheckedContinuation { continuation in
            let leads = state.withLock { state in
                state.waiting.append(continuation)
                defer { state.isRunning = true }
                return !state.isRunning
            }
            if leads { threads.start { self.serve() } }
        }
        if let failure { throw failure }
    }

    /// Syncs until nobody waits. A failed sync fails all who waited for it: which change was lost is not known.
    private func serve() {
        while true {
            let served = state.withLock { state in
                defer { state.waiting = [] }
                if state.waiting.isEmpty { state.isRunning = false }
                return state.waiting
            }
            if served.isEmpty { return }
            var failure: SystemError?
            do throws(SystemError) { try sync() } catch { failure = error }
            for continuation in served { continuation.resume(returning: failure) }
        }
    }
}
