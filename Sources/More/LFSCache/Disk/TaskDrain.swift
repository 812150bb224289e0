import LFSSystem

/// A gate that admits operations until it closes, and waits for the admitted ones to finish.
final class TaskDrain: Sendable {
    private struct State: Sendable {
        var inside = 0
        var isClosed = false
    }

    private let queue = WaitQueue<State, Void>(State())

    /// Admits an operation, which must call ``leave()`` when it ends. Returns false if the gate is closed.
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

    /// Closes the gate and waits for the admitted operations, even in a cancelled task.
    func close() async {
        queue.change { state, _ in state.isClosed = true }
        await queue.wait(ifCancelled: nil) { $0.inside == 0 ? () : nil }
    }
}
