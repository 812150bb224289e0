import Dispatch
import LFSSystem

/// A channel for chunks of bytes, from a thread that may block to one task. It holds one chunk, so memory stays
/// constant however large the whole is.
///
/// One queue owns the state.
final class ChunkChannel: Sendable {
    private enum Step: Sendable {
        case chunk([UInt8])
        /// All chunks were taken, or the error that ended them.
        case end((any Error)?)
        case cancelled
    }

    private struct State: Sendable {
        var chunk: [UInt8]?
        /// The last step. Nil while more chunks may follow.
        var end: Step?
        /// True while a thread waits until its chunk is taken.
        var isHeld = false
        var isClosed = false
    }

    private let queue = WaitQueue<State, Step>(State())
    private let taken = DispatchSemaphore(value: 0)

    // MARK: The thread

    /// Passes on a chunk. Blocks the thread until the task has taken it, unless the task waits for it already or the
    /// channel is closed. One thread at a time may call it.
    func put(_ chunk: [UInt8]) {
        let isHeld = queue.change { state, line in
            if state.isClosed || state.end != nil || line.answerFirst(.chunk(chunk)) { return false }
            state.chunk = chunk
            state.isHeld = true
            return true
        }
        if isHeld { taken.wait() }
    }

    /// Ends the chunks. Later calls have no effect.
    func finish(_ error: (any Error)? = nil) {
        queue.change { state, line in
            if state.isClosed || state.end != nil { return }
            state.end = .end(error)
            _ = line.answerFirst(.end(error))
        }
    }

    // MARK: The task

    /// Returns the next chunk, or nil after the last one.
    ///
    /// - Throws: the error that ended the chunks, and `CancellationError`.
    func next() async throws -> [UInt8]? {
        let step = await queue.wait(ifCancelled: .cancelled) { state in
            state.chunk.take().map { Step.chunk($0) } ?? state.end
        }
        switch step {
        case .chunk(let chunk):
            release()
            return chunk
        case .end(let error):
            if let error { throw error }
            return nil
        case .cancelled: throw CancellationError()
        }
    }

    /// Refuses further chunks, and drops one that was not taken.
    ///
    /// - Returns: true if more chunks might have followed.
    func close() -> Bool {
        let isEarly = queue.change { state, _ in
            state.isClosed = true
            state.chunk = nil
            return state.end == nil
        }
        release()
        return isEarly
    }

    /// Wakes the thread if its chunk is gone.
    private func release() {
        let wasHeld = queue.change { state, _ in
            guard state.isHeld, state.chunk == nil else { return false }
            state.isHeld = false
            return true
        }
        if wasHeld { taken.signal() }
    }
}
