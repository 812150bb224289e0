import CCurl
import LFSHTTP
import LFSSystem
import Synchronization

/// The messages of tasks and other threads to the engine's thread.
///
/// The thread is woken while the mutex is locked, so that the multi handle cannot be released at the same time. Waking
/// it writes one byte to a descriptor that never blocks.
final class Inbox: Sendable {
    /// The messages since the thread last collected them.
    struct PendingCommands {
        var submitted: [Transfer] = []
        var cancelled: [Transfer] = []
        /// Transfers whose sink has room again.
        var resumed: [Transfer] = []
        /// The jobs of tasks that prefer this thread.
        var jobs: [UnownedJob] = []
        var isClosing = false

        var isEmpty: Bool {
            submitted.isEmpty && cancelled.isEmpty && resumed.isEmpty && jobs.isEmpty && !isClosing
        }
    }

    private struct State {
        var mail = PendingCommands()
        /// True if the thread waits in a poll and has not been woken yet.
        var isAsleep = false
        var multi: MultiPointer?
        var isRunning = false
        var isClosed = false
    }

    private let state = Mutex(State())
    private let closed = Latch()

    enum Submission { case closed, start, running }

    /// Submits a transfer. Returns whether the caller must start a thread for it.
    func submit(_ transfer: Transfer) -> Submission { submit { $0.submitted.append(transfer) } }

    /// Submits a job. Returns whether the caller must start a thread for it, or run it elsewhere.
    func submit(_ job: UnownedJob) -> Submission { submit { $0.jobs.append(job) } }

    private func submit(_ change: (inout PendingCommands) -> Void) -> Submission {
        state.withLock { state in
            guard !state.mail.isClosing, !state.isClosed else { return .closed }
            change(&state.mail)
            guard state.isRunning else {
                state.isRunning = true
                return .start
            }
            wake(&state)
            return .running
        }
    }

    /// Ends all submitted transfers because no thread could be started. The next transfer tries to start a thread
    /// again. Returns the jobs, which the caller must run elsewhere.
    func refuse(_ error: HTTPError) -> [UnownedJob] {
        let (rest, isClosed) = state.withLock { state in
            state.isRunning = false
            state.isClosed = state.mail.isClosing
            defer {
                state.mail = PendingCommands()
                state.mail.isClosing = state.isClosed
            }
            return (state.mail, state.isClosed)
        }
        for transfer in rest.submitted { transfer.end(.failure(error)) }
        if isClosed { closed.open() }
        return rest.jobs
    }

    func cancel(_ transfer: Transfer) { tell { $0.cancelled.append(transfer) } }
    func resume(_ transfer: Transfer) { tell { $0.resumed.append(transfer) } }

    /// Asks the thread to end all transfers, including those that have not started.
    func close() {
        let isClosed = state.withLock { state in
            state.mail.isClosing = true
            if state.isRunning { wake(&state) } else { state.isClosed = true }
            return state.isClosed
        }
        if isClosed { closed.open() }
    }

    /// Returns when the thread has released everything.
    func waitUntilClosed() async { await closed.waitThroughCancellation() }

    // MARK: Calls of the engine's thread

    func begin(_ multi: MultiPointer) { state.withLock { $0.multi = multi } }

    /// Returns all messages and empties the inbox.
    func collect() -> PendingCommands {
        state.withLock { state in
            state.isAsleep = false
            var mail = PendingCommands()
            swap(&mail, &state.mail)
            state.mail.isClosing = mail.isClosing
            return mail
        }
    }

    /// Returns true if the thread may sleep because no message has arrived since the last call of ``collect()``.
    func fallAsleep() -> Bool {
        state.withLock { state in
            state.isAsleep = state.mail.isEmpty
            return state.isAsleep
        }
    }

    /// Records that the thread ends. After this call, no thread uses the multi handle. Returns the jobs that have not
    /// run.
    func end() -> [UnownedJob] {
        let rest = state.withLock { state in
            state.multi = nil
            state.isClosed = true
            state.isRunning = false
            defer {
                state.mail = PendingCommands()
                state.mail.isClosing = true
            }
            return state.mail
        }
        for transfer in rest.submitted { transfer.end(.failure(HTTPError.closed)) }
        closed.open()
        return rest.jobs
    }

    private func tell(_ change: (inout PendingCommands) -> Void) {
        state.withLock { state in
            guard !state.isClosed else { return }
            change(&state.mail)
            wake(&state)
        }
    }

    private func wake(_ state: inout State) {
        guard state.isAsleep, let multi = state.multi else { return }
        state.isAsleep = false
        curl_multi_wakeup(multi.raw)
    }
}

/// The multi handle of libcurl. It is unchecked because `curl_multi_wakeup` may be called from any thread, as its
/// manual states. Other threads make only this call.
struct MultiPointer: @unchecked Sendable {
    let raw: UnsafeMutableRawPointer
}
