import LFSSystem
import Synchronization

/// The long-running calls of the app. A stop cancels them and waits for them.
final class ActiveCalls: Sendable {
    private struct State {
        var isClosed = false
        var lastID = 0
        /// The running calls, each with the flag that a stop sets.
        var underWay: [Int: CancellationFlag] = [:]
    }

    private enum CallResult<Value: Sendable>: Sendable {
        case ended(Result<Value, any Error>)
        case closed(byStop: Bool)
    }

    /// The calls that the current task is part of. A closure that such a call runs may stop the manager.
    @TaskLocal private static var current: Set<Int> = []

    private let state = Mutex(State())
    private let closing = Latch()
    private let ended = Latch()

    /// The number of tasks that wait for the end of the running calls.
    var waiterCount: Int { ended.waiterCount }

    /// Runs the body until it ends or a stop cancels it.
    ///
    /// - Parameter purpose: the purpose of the call, as an infinitive.
    /// - Throws: ``LFSError/Code/notRunning`` after a stop, and when a stop has cancelled the body.
    func run<Result: Sendable>(
        _ purpose: String, _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        try await within(purpose) { _ in try await untilClosed(purpose, body) }
    }

    /// Runs the body in the caller's own task. The body must end on its own soon after a stop has set its flag. Use it
    /// for calls that are too short for tasks of their own.
    ///
    /// - Throws: as ``run(_:_:)``.
    func runWatching<Result: Sendable>(
        _ purpose: String, _ body: @Sendable (CancellationFlag) async throws -> Result
    ) async throws -> Result {
        try await within(purpose) { flag in
            do {
                return try await body(flag)
            } catch let error where state.withLock({ $0.isClosed }) {
                throw Self.stopped(purpose, error: error)
            }
        }
    }

    private func within<Result>(
        _ purpose: String, _ body: (CancellationFlag) async throws -> Result
    ) async throws -> Result {
        let flag = CancellationFlag()
        let id = try enter(purpose, flag: flag)
        defer { leave([id]) }
        return try await Self.$current.withValue(Self.current.union([id])) { try await body(flag) }
    }

    private static func stopped(_ purpose: String, error: any Error) -> LFSError {
        LFSError(
            .notRunning,
            message:
                "The LFSManager was stopped during the call. Finished work is kept. Open another one to \(purpose).",
            cause: error)
    }

    private func untilClosed<Value: Sendable>(
        _ purpose: String, _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let endings: [CallResult<Value>] = await race(
            {
                do { return .ended(.success(try await body())) } catch { return .ended(.failure(error)) }
            },
            {
                await self.closing.wait()
                return .closed(byStop: self.state.withLock { $0.isClosed })
            })
        // The caller's task was cancelled, or the manager was stopped. In both cases the body has ended.
        var isStopped = false
        for ending in endings {
            switch ending {
            case .closed(let byStop): isStopped = byStop
            case .ended(.success(let value)): return value
            case .ended(.failure(let error)): throw isStopped ? Self.stopped(purpose, error: error) : error
            }
        }
        throw CancellationError()
    }

    private func enter(_ purpose: String, flag: CancellationFlag) throws(LFSError) -> Int {
        let id: Int? = state.withLock { state in
            if state.isClosed { return nil }
            state.lastID += 1
            state.underWay[state.lastID] = flag
            return state.lastID
        }
        guard let id else {
            throw LFSError(.notRunning, message: "The LFSManager was stopped. Open another one to \(purpose).")
        }
        return id
    }

    private func leave(_ ids: Set<Int>) {
        let isLast = state.withLock { state in
            for id in ids { state.underWay[id] = nil }
            return state.isClosed && state.underWay.isEmpty
        }
        if isLast { ended.open() }
    }

    /// Refuses further calls, and cancels the running ones without waiting for them. Calls that the current task is
    /// part of are not waited for at all. They continue when this method returns.
    func close() {
        let flags = state.withLock { state in
            state.isClosed = true
            return Array(state.underWay.values)
        }
        for flag in flags { flag.cancel() }
        closing.open()
        leave(Self.current)
    }

    /// Does the same as ``close()``, and returns when no call is running.
    func end() async {
        close()
        await ended.waitThroughCancellation()
    }
}
