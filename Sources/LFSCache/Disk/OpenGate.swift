import LFSSystem

/// Lets work in until it closes, and tells when all of it has gone out.
final class OpenGate: Sendable {
    private struct State: Sendable {
        var inside = 0
        var isClosed = false
    }

    private let queue = WaitQueue<State, Void>(State())

    /// Returns false when it is closed. Who came in goes out by ``leave()``.
    func enter() -> Bool {
        queue.change { state, _ in
            if !state.isClosed { state.inside += 1 }
            return !state.isClosed
        }
    }

    func leave() {
        queue.change { state, line in
            state.inside -= 1
            if state.isClosed, state.inside == 0 { line.answerAll(()) }
        }
    }

    /// Lets nobody in any more and waits for those inside, in a cancelled task too.
    func close() async {
        queue.change { state, _ in state.isClosed = true }
        await queue.wait(ifCancelled: nil) { $0.inside == 0 ? () : nil }
    }
}
