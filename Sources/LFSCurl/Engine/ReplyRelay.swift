import LFSHTTP
import LFSSystem
import Synchronization

/// Carries a reply's bytes from the engine's thread to a sink that may block, in order, and holds the connection back
/// when the sink is slower.
///
/// The sink is called by one thread at a time, never with the mutex held.
final class ReplyRelay: Sendable {
    enum Answer { case taken, full, failed }

    private struct State {
        var waiting: [UInt8] = []
        var isDraining = false
        var isDiscarding = false
        var failure: (any Error)?
        /// Whether the connection waits for room.
        var isHeldBack = false
        var whenDone: (@Sendable ((any Error)?) -> Void)?
    }

    /// Enough to keep the disk busy while the network brings more.
    private static let capacity = 1 << 20

    private let sink: ResponseBody.Sink
    private let whenRoom: @Sendable () -> Void
    private let state = Mutex(State())

    /// - Parameter whenRoom: called on another thread when ``take(_:)`` answered `full` or `failed` is known now.
    init(_ sink: @escaping ResponseBody.Sink, whenRoom: @escaping @Sendable () -> Void) {
        self.sink = sink
        self.whenRoom = whenRoom
    }

    /// Takes bytes on the engine's thread.
    func take(_ bytes: UnsafeRawBufferPointer) -> Answer {
        let (answer, starts) = state.withLock { state in
            if state.failure != nil { return (Answer.failed, false) }
            if state.waiting.count >= Self.capacity {
                state.isHeldBack = true
                return (.full, false)
            }
            state.waiting.append(contentsOf: bytes)
            defer { state.isDraining = true }
            return (.taken, !state.isDraining)
        }
        if starts { BlockingPool.sinks.start { self.drain() } }
        return answer
    }

    /// Calls the closure once the sink has everything, or with the sink's error. Nothing may be given afterwards.
    ///
    /// - Parameter discarding: drops what the sink has not begun to take.
    func finish(discarding: Bool, _ body: @escaping @Sendable ((any Error)?) -> Void) {
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

    /// The next bytes for the sink; nil ends the work of this thread.
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
