import LFSSystem
import Synchronization

/// A bounded buffer between an engine's thread and a sink that may block. It keeps the order of the bytes, and the
/// engine pauses the connection while the sink is slower.
///
/// One thread at a time calls the sink, never with the mutex locked.
package final class ReplyRelay: Sendable {
    package enum Answer { case taken, full, failed }

    private struct State {
        var waiting: [UInt8] = []
        var isDraining = false
        var isDiscarding = false
        var failure: (any Error)?
        /// True if the connection waits for room.
        var isHeldBack = false
        var whenDone: (@Sendable ((any Error)?) -> Void)?
    }

    /// Enough bytes to keep the disk busy while more arrive.
    private static let capacity = 1 << 20

    private let sink: ResponseBody.Sink
    private let whenRoom: @Sendable () -> Void
    private let state = Mutex(State())

    /// - Parameter whenRoom: called on another thread after ``take(_:)`` or ``keep(_:)`` returned `full`, once there is
    ///   room or the sink has failed.
    package init(_ sink: @escaping ResponseBody.Sink, whenRoom: @escaping @Sendable () -> Void) {
        self.sink = sink
        self.whenRoom = whenRoom
    }

    /// Receives bytes on the engine's thread. Does not keep them if the answer is `full`.
    package func take(_ bytes: UnsafeRawBufferPointer) -> Answer { add(bytes, refusesWhenFull: true) }

    /// Receives bytes from an engine that cannot hold them back. Keeps them if the answer is `full` too.
    package func keep(_ bytes: UnsafeRawBufferPointer) -> Answer { add(bytes, refusesWhenFull: false) }

    /// True after the answer `full`, until there is room or the sink has failed.
    package var isHeldBack: Bool { state.withLock(\.isHeldBack) }

    private func add(_ bytes: UnsafeRawBufferPointer, refusesWhenFull: Bool) -> Answer {
        let (answer, starts) = state.withLock { state in
            if state.failure != nil { return (Answer.failed, false) }
            let isFull = state.waiting.count >= Self.capacity
            if isFull { state.isHeldBack = true }
            if isFull, refusesWhenFull { return (.full, false) }
            state.waiting.append(contentsOf: bytes)
            defer { state.isDraining = true }
            return (isFull ? .full : .taken, !state.isDraining)
        }
        if starts { BlockingPool.sinks.start { self.drain() } }
        return answer
    }

    /// Calls the closure once the sink has received everything, or with the sink's error. No more bytes may follow.
    ///
    /// - Parameter discarding: drops the bytes that have not been passed to the sink.
    package func finish(discarding: Bool, _ body: @escaping @Sendable ((any Error)?) -> Void) {
        let isDone = state.withLock { state in
            if discarding { (state.isDiscarding, state.waiting) = (true, []) }
            if state.isDraining { state.whenDone = body }
            return !state.isDraining
        }
        if isDone { body(state.withLock(\.failure)) }
    }

    private func drain() {
        while let bytes = next() {
            do {
                try bytes.withUnsafeBytes { try sink($0) }
            } catch {
                state.withLock { $0.failure = error }
            }
        }
    }

    /// Returns the next bytes for the sink. nil ends the work of this thread.
    private func next() -> [UInt8]? {
        let (bytes, isHeldBack, done) = state.withLock { state -> ([UInt8]?, Bool, (() -> Void)?) in
            let isHeldBack = state.isHeldBack
            state.isHeldBack = false
            guard state.waiting.isEmpty || state.failure != nil || state.isDiscarding else {
                var bytes: [UInt8] = []
                swap(&bytes, &state.waiting)
                return (bytes, isHeldBack, nil)
            }
            state.waiting = []
            state.isDraining = false
            guard let whenDone = state.whenDone else { return (nil, isHeldBack, nil) }
            let failure = state.failure
            state.whenDone = nil
            return (nil, isHeldBack, { whenDone(failure) })
        }
        if isHeldBack { whenRoom() }
        done?()
        return bytes
    }
}
