import CCurl
import LFSHTTP
import LFSSystem
import Synchronization

/// What tasks and other threads tell the engine's thread.
///
/// Waking the thread happens under it, so that the multi handle cannot go meanwhile; that
/// is one write of a byte to a descriptor that never blocks.
final class Inbox: Sendable {
    /// What has to be done since the thread looked last.
    struct Mail {
        var submitted: [Transfer] = []
        var cancelled: [Transfer] = []
        /// Transfers whose sink has room again.
        var resumed: [Transfer] = []
        var isClosing = false

        var isEmpty: Bool { submitted.isEmpty && cancelled.isEmpty && resumed.isEmpty && !isClosing }
    }

    private struct State {
        var mail = Mail()
        /// Whether the thread waits in a poll and nobody has woken it yet.
        var isAsleep = false
        var multi: MultiPointer?
        var isRunning = false
        var isClosed = false
    }

    private let state = Mutex(State())
    private let closed = Latch()

    enum Submission { case closed, start, running }

    /// Hands a transfer over. Returns whether a thread has to be started for it.
    func submit(_ transfer: Transfer) -> Submission {
        state.withLock { state in
            guard !state.mail.isClosing, !state.isClosed else { return .closed }
            state.mail.submitted.append(transfer)
            guard state.isRunning else {
                state.isRunning = true
                return .start
            }
            wake(&state)
            return .running
        }
    }

    /// Ends everything that was submitted, since there is no thread for it. The next transfer asks for one again.
    func refuse(_ error: HTTPError) {
        let (rest, isClosed) = state.withLock { state in
            state.isRunning = false
            state.isClosed = state.mail.isClosing
            defer {
                state.mail = Mail()
                state.mail.isClosing = state.isClosed
            }
            return (state.mail.submitted, state.isClosed)
        }
        for transfer in rest { transfer.end(.failure(error)) }
        if isClosed { closed.open() }
    }

    func cancel(_ transfer: Transfer) { tell { $0.cancelled.append(transfer) } }
    func resume(_ transfer: Transfer) { tell { $0.resumed.append(transfer) } }

    /// Asks the thread to end everything. What has not begun is ended too.
    func close() {
        let isClosed = state.withLock { state in
            state.mail.isClosing = true
            if state.isRunning { wake(&state) } else { state.isClosed = true }
            return state.isClosed
        }
        if isClosed { closed.open() }
    }

    /// Returns when the thread has given everything back.
    func waitUntilClosed() async { await closed.waitThroughCancellation() }

    // MARK: The engine's thread

    func begin(_ multi: MultiPointer) { state.withLock { $0.multi = multi } }

    /// What there is to do; nothing is kept.
    func collect() -> Mail {
        state.withLock { state in
            state.isAsleep = false
            var mail = Mail()
            swap(&mail, &state.mail)
            state.mail.isClosing = mail.isClosing
            return mail
        }
    }

    /// Whether the thread may sleep: nothing has come since it looked.
    func fallAsleep() -> Bool {
        state.withLock { state in
            state.isAsleep = state.mail.isEmpty
            return state.isAsleep
        }
    }

    /// The thread ends. From here on nobody touches the multi handle.
    func end() {
        let rest = state.withLock { state in
            (state.multi, state.isClosed, state.isRunning) = (nil, true, false)
            defer {
                state.mail = Mail()
                state.mail.isClosing = true
            }
            return state.mail.submitted
        }
        for transfer in rest { transfer.end(.failure(HTTPError.closed)) }
        closed.open()
    }

    private func tell(_ change: (inout Mail) -> Void) {
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

/// libcurl's multi handle. Unchecked because `curl_multi_wakeup` may be called from any thread (its manual says so),
/// and that is all that other threads do with it.
struct MultiPointer: @unchecked Sendable {
    let raw: UnsafeMutableRawPointer
}
