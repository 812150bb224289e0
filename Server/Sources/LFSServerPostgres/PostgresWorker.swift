import Dispatch
import LFSSyncServer
import Synchronization

/// One place of the pool: a connection, opened when it is first needed, and the queue on which it blocks.
///
/// `@unchecked Sendable`: the connection is touched on the queue alone, by one job at a time.
final class PostgresWorker: @unchecked Sendable {
    private let url: PostgresURL
    private let options: PostgresOptions
    private let queue = DispatchQueue(label: "lfs.postgres")
    private var connection: PostgresConnection?

    init(_ url: PostgresURL, _ options: PostgresOptions) { (self.url, self.options) = (url, options) }

    /// How a transaction has ended.
    enum Outcome<Value: Sendable>: Sendable {
        case done(Value)
        /// It changed nothing, and may succeed when it runs again.
        case again(any Error, isLost: Bool)
    }

    /// Runs a closure in one transaction. When the task is cancelled, so is the statement.
    ///
    /// - Parameter words: what stands behind `BEGIN`.
    func transaction<Value: Sendable>(
        _ words: String, _ body: @escaping @Sendable (any SQLConnection) throws -> Value
    ) async throws -> Outcome<Value> {
        let job = Job()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                queue.async { [self] in
                    continuation.resume(with: Result { try run(words, job, body) })
                }
            }
        } onCancel: {
            // It connects to the server, which may take its time.
            if let canceller = job.end() { DispatchQueue.global().async { canceller.cancel() } }
        }
    }

    private func run<Value: Sendable>(
        _ words: String, _ job: Job, _ body: @Sendable (any SQLConnection) throws -> Value
    ) throws -> Outcome<Value> {
        var made: PostgresConnection?
        // What was cancelled may hit whatever the connection does next, so it does nothing more.
        defer { connection = job.finish() ? nil : made.flatMap { $0.isIdle ? $0 : nil } }
        do {
            let current = try connection ?? PostgresConnection(url, options)
            made = current
            try job.begin(current.canceller)
            let value: Value
            do {
                try current.begin(words)
                value = try body(current)
            } catch {
                let isLost = current.isBroken
                let isTransient = error is SQLFailure && current.lastFailure?.isTransient == true
                current.rollback()
                if !job.isCancelled, isTransient || isLost { return .again(error, isLost: isLost) }
                throw error
            }
            do {
                try current.commit()
            } catch {
                let isTransient = current.lastFailure?.isTransient == true
                current.rollback()
                // Whether it was committed nobody knows when the connection ended meanwhile.
                if isTransient { return .again(error, isLost: false) }
                throw error
            }
            return .done(value)
        } catch {
            throw job.isCancelled ? CancellationError() : error
        }
    }

    /// Ends the connection.
    func close() async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            queue.async { [self] in
                connection = nil
                continuation.resume()
            }
        }
    }
}

/// Who may still cancel what runs.
private final class Job: Sendable {
    private struct State {
        var canceller: Canceller?
        var isCancelled = false
    }

    private let state = Mutex(State())

    var isCancelled: Bool { state.withLock { $0.isCancelled } }

    func begin(_ canceller: Canceller) throws {
        try state.withLock { state in
            if state.isCancelled { throw CancellationError() }
            state.canceller = canceller
        }
    }

    /// - Returns: whether it was cancelled.
    func finish() -> Bool {
        state.withLock { state in
            state.canceller = nil
            return state.isCancelled
        }
    }

    /// - Returns: what ends the statement; nil when nothing runs.
    func end() -> Canceller? {
        state.withLock { state in
            state.isCancelled = true
            return state.canceller
        }
    }
}
