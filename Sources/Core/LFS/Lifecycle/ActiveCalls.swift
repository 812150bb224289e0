import LFSSystem
import Synchronization

/// The long-running calls of the app. A suspension or a stop refuses further calls, cancels the running ones and waits
/// for them.
final class ActiveCalls: Sendable {
    /// The reason why calls are refused.
    enum Closing: Sendable {
        case suspension, stop

        /// Returns the error of a refused call.
        ///
        /// - Parameter purpose: the purpose of the call, as an infinitive.
        func refusal(of purpose: String) -> LFSError {
            switch self {
            case .suspension: .suspended(purpose)
            case .stop: .stopped(purpose)
            }
        }
    }

    private struct State {
        var closing: Closing?
        var lastID = 0
        /// The running calls, each with the flag that cancels it.
        var underWay: [Int: CancellationFlag] = [:]
        /// The running calls whose closures have requested a suspension or a stop, which must not wait for them.
        var callers: Set<Int> = []
        /// Opens when the running calls are cancelled.
        var cancellation = Latch()
        /// Opens when calls are refused and none is running.
        var ended = Latch()
    }

    private enum CallResult<Value: Sendable>: Sendable {
        case ended(Result<Value, any Error>)
        case closed(by: Closing?)
    }

    /// The calls that the current task is part of. A closure that such a call runs may stop the manager.
    @TaskLocal private static var current: Set<Int> = []

    private let state = Mutex(State())

    /// The number of tasks that wait for the end of the running calls.
    var waiterCount: Int { state.withLock { $0.ended }.waiterCount }

    /// Runs the body until it ends, or until a suspension or a stop cancels it.
    ///
    /// - Parameter purpose: the purpose of the call, as an infinitive.
    /// - Throws: ``LFSError/Code/notRunning`` after a stop or when a stop has cancelled the body, and
    ///   ``LFSError/Code/suspended`` in the same cases of a suspension.
    func run<Result: Sendable>(
        _ purpose: String, _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        try await within(purpose) { _ in try await untilClosed(purpose, body) }
    }

    /// Runs the body in the caller's own task. The body must end on its own soon after its flag is set. Use it for
    /// calls that are too short for tasks of their own.
    ///
    /// - Throws: the errors of ``run(_:_:)``.
    func runWatching<Result: Sendable>(
        _ purpose: String, _ body: @Sendable (CancellationFlag) async throws -> Result
    ) async throws -> Result {
        try await within(purpose) { flag in
            do {
                return try await body(flag)
            } catch {
                guard flag.isCancelled, let closing = state.withLock({ $0.closing }) else { throw error }
                throw Self.cancelled(purpose, by: closing, cause: error)
            }
        }
    }

    private func within<Result>(
        _ purpose: String, _ body: (CancellationFlag) async throws -> Result
    ) async throws -> Result {
        let flag = CancellationFlag()
        let id = try enter(purpose, flag: flag)
        defer { leave(id) }
        return try await Self.$current.withValue(Self.current.union([id])) { try await body(flag) }
    }

    private static func cancelled(_ purpose: String, by closing: Closing, cause: any Error) -> LFSError {
        switch closing {
        case .suspension:
            LFSError(
                .suspended,
                message: """
                    The LFSManager was suspended during the call. Finished work is kept. Call \
                    resumeFromSuspension() to \(purpose).
                    """,
                cause: cause)
        case .stop:
            LFSError(
                .notRunning,
                message: """
                    The LFSManager was stopped during the call. Finished work is kept. Open another one to \
                    \(purpose).
                    """,
                cause: cause)
        }
    }

    private func untilClosed<Value: Sendable>(
        _ purpose: String, _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let cancellation = state.withLock { $0.cancellation }
        let endings: [CallResult<Value>] = await race(
            {
                do { return .ended(.success(try await body())) } catch { return .ended(.failure(error)) }
            },
            {
                await cancellation.wait()
                return .closed(by: cancellation.isOpen ? self.state.withLock { $0.closing } : nil)
            })
        // The caller's task or the call was cancelled. In both cases the body has ended.
        var closing: Closing?
        for ending in endings {
            switch ending {
            case .closed(let reason): closing = reason
            case .ended(.success(let value)): return value
            case .ended(.failure(let error)):
                throw closing.map { Self.cancelled(purpose, by: $0, cause: error) } ?? error
            }
        }
        throw CancellationError()
    }

    private func enter(_ purpose: String, flag: CancellationFlag) throws(LFSError) -> Int {
        let (id, closing) = state.withLock { state in
            if let closing = state.closing { return (0, closing as Closing?) }
            state.lastID += 1
            state.underWay[state.lastID] = flag
            return (state.lastID, nil)
        }
        if let closing { throw closing.refusal(of: purpose) }
        return id
    }

    private func leave(_ id: Int) {
        openIfEnded { state in
            state.underWay[id] = nil
            state.callers.remove(id)
        }
    }

    private func openIfEnded(_ change: (inout State) -> Void) {
        let ended = state.withLock { state in
            change(&state)
            let isEnded = state.closing != nil && state.underWay.keys.allSatisfy(state.callers.contains)
            return isEnded ? state.ended : nil
        }
        ended?.open()
    }

    /// Refuses further calls, and lets the running ones continue. Calls that the current task is part of are not waited
    /// for from now on.
    func refuse(for closing: Closing) {
        let current = Self.current
        openIfEnded { state in
            // A stop is final.
            if state.closing != .stop { state.closing = closing }
            state.callers.formUnion(current.intersection(state.underWay.keys))
        }
    }

    /// Refuses further calls, and cancels the running ones without waiting for them. Calls that the current task is
    /// part of are not waited for at all. They continue when this method returns.
    func close(for closing: Closing) {
        refuse(for: closing)
        let (flags, cancellation) = state.withLock { (Array($0.underWay.values), $0.cancellation) }
        for flag in flags { flag.cancel() }
        cancellation.open()
    }

    /// Does the same as ``close(for:)``, and returns when no call is running.
    func end(for closing: Closing) async {
        close(for: closing)
        await state.withLock { $0.ended }.waitThroughCancellation()
    }

    /// Returns when calls are refused and none is running, or when the task is cancelled.
    func waitForEnd() async { await state.withLock { $0.ended }.wait() }

    /// Accepts calls again after a suspension.
    func reopen() {
        state.withLock { state in
            guard state.closing == .suspension else { return }
            state.closing = nil
            state.callers = []
            state.cancellation = Latch()
            state.ended = Latch()
        }
    }
}
