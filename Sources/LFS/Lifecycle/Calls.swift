import LFSSystem
import Synchronization

/// Calls of the host that take long. A stop ends them and waits for them.
final class Calls: Sendable {
    private struct State {
        var isClosed = false
        var lastID = 0
        /// Those under way, each with the flag that a stop sets.
        var underWay: [Int: CancellationFlag] = [:]
    }

    private enum Ending<Value: Sendable>: Sendable {
        case ended(Result<Value, any Error>)
        case closed(byStop: Bool)
    }

    /// Those that the current task is part of: what a call tells the host may stop the manager.
    @TaskLocal private static var current: Set<Int> = []

    private let state = Mutex(State())
    private let closing = Latch()
    private let ended = Latch()

    /// How many tasks wait for the end of those under way.
    var waiterCount: Int { ended.waiterCount }

    /// Runs the body until it ends or is cancelled by a stop.
    ///
    /// - Parameter purpose: what the call is for, as an infinitive.
    /// - Throws: ``LFSError/Code/notRunning`` after a stop, and when a stop has ended it.
    func run<Result: Sendable>(
        _ purpose: String, _ body: @escaping @Sendable () async throws -> Result
    ) async throws -> Result {
        try await within(purpose) { _ in try await untilClosed(purpose, body) }
    }

    /// Runs the body in the caller's own task: it ends by itself soon after a stop has set its flag. For what is too
    /// short for tasks of its own.
    ///
    /// - Throws: as ``run(_:_:)``.
    func runWatching<Result: Sendable>(
        _ purpose: String, _ body: @Sendable (CancellationFlag) async throws -> Result
    ) async throws -> Result {
        try await within(purpose) { flag in
            do {
                return try await body(flag)
            } catch let error where state.withLock({ $0.isClosed }) {
                throw Self.stopped(purpose, error)
            }
        }
    }

    private func within<Result>(
        _ purpose: String, _ body: (CancellationFlag) async throws -> Result
    ) async throws -> Result {
        let flag = CancellationFlag()
        let id = try enter(purpose, flag)
        defer { leave([id]) }
        return try await Self.$current.withValue(Self.current.union([id])) { try await body(flag) }
    }

    private static func stopped(_ purpose: String, _ error: any Error) -> LFSError {
        LFSError(
            .notRunning,
            "The LFSManager was stopped meanwhile. What was done so far stands; open another one to \(purpose).",
            cause: error)
    }

    private func untilClosed<Value: Sendable>(
        _ purpose: String, _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let endings: [Ending<Value>] = await race(
            {
                do { return .ended(.success(try await body())) } catch { return .ended(.failure(error)) }
            },
            {
                await self.closing.wait()
                return .closed(byStop: self.state.withLock { $0.isClosed })
            })
        // Its own task was cancelled, or the manager was stopped. Either way the body came to its end.
        var isStopped = false
        for ending in endings {
            switch ending {
            case .closed(let byStop): isStopped = byStop
            case .ended(.success(let value)): return value
            case .ended(.failure(let error)): throw isStopped ? Self.stopped(purpose, error) : error
            }
        }
        throw CancellationError()
    }

    private func enter(_ purpose: String, _ flag: CancellationFlag) throws(LFSError) -> Int {
        let id: Int? = state.withLock { state in
            if state.isClosed { return nil }
            state.lastID += 1
            state.underWay[state.lastID] = flag
            return state.lastID
        }
        guard let id else {
            throw LFSError(.notRunning, "The LFSManager was stopped. Open another one to \(purpose).")
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

    /// Lets no further call begin, and cancels those that are under way. Does not wait for them, and nobody waits for
    /// those that the current task is part of: they go on when it returns.
    func close() {
        let flags = state.withLock { state in
            state.isClosed = true
            return Array(state.underWay.values)
        }
        for flag in flags { flag.cancel() }
        closing.open()
        leave(Self.current)
    }

    /// As ``close()``, and returns when none is under way any more.
    func end() async {
        close()
        await ended.waitThroughCancellation()
    }
}
