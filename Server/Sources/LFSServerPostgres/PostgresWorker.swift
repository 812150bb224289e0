import Dispatch
import LFSSyncServer
import Synchronization

/// A slot of the pool: a connection, opened on first use, and the queue on which it blocks.
///
/// `@unchecked Sendable`: only the queue accesses the connection, one job at a time.
final class PostgresWorker: @unchecked Sendable {
    private let url: PostgresURL
    private let options: PostgresOptions
    private let queue = DispatchQueue(label: "lfs.postgres")
    private var connection: PostgresConnection?

    init(_ url: PostgresURL, options: PostgresOptions) { (self.url, self.options) = (url, options) }

    /// The result of a transaction.
    enum Outcome<Value: Sendable>: Sendable {
        case done(Value, notices: [ServerNotice])
        /// The transaction changed nothing, and may succeed when it is repeated.
        case again(any Error, isLost: Bool)
    }

    /// Runs a closure in one transaction. A cancelled task cancels its statement.
    ///
    /// - Parameters:
    ///   - words: the text after `BEGIN`.
    ///   - collectsNotices: true to return the notices about the changes of the transaction. Otherwise the transaction
    ///     sends them.
    func transaction<Value: Sendable>(
        _ words: String, collectsNotices: Bool, _ body: @escaping @Sendable (any SQLConnection) throws -> Value
    ) async throws -> Outcome<Value> {
        let job = Job()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                queue.async { [self] in
                    continuation.resume(
                        with: Result { try run(words, collectsNotices: collectsNotices, job: job, body) })
                }
            }
        } onCancel: {
            // The cancellation connects to the server, which may take time.
            if let canceller = job.end() { DispatchQueue.global().async { canceller.cancel() } }
        }
    }

    private func run<Value: Sendable>(
        _ words: String, collectsNotices: Bool, job: Job, _ body: @Sendable (any SQLConnection) throws -> Value
    ) throws -> Outcome<Value> {
        var made: PostgresConnection?
        // A late cancellation could hit the next statement of the connection, so the connection is dropped.
        defer { connection = job.finish() ? nil : made.flatMap { $0.isIdle ? $0 : nil } }
        do {
            let current = try connection ?? PostgresConnection(url, options: options)
            made = current
            try job.begin(current.canceller)
            let value: Value
            do {
                try current.begin(words, collectsNotices: collectsNotices)
                value = try body(current)
            } catch {
                let isLost = current.isBroken
                let isTransient = error is SQLFailure && current.lastFailure?.isTransient == true
                current.rollback()
                if !job.isCancelled, isTransient || isLost { return .again(error, isLost: isLost) }
                throw error
            }
            let notices: [ServerNotice]
            do {
                notices = try current.commit(collectsNotices: collectsNotices)
            } catch {
                let isTransient = current.lastFailure?.isTransient == true
                current.rollback()
                // If the connection ended during the commit, the outcome is unknown, so the transaction is not
                // repeated.
                if isTransient { return .again(error, isLost: false) }
                throw error
            }
            return .done(value, notices: notices)
        } catch {
            throw job.isCancelled ? CancellationError() : error
        }
    }

    /// Runs a closure outside of a transaction, on a new connection that is closed at the end. A cancelled task cancels
    /// its statement.
    ///
    /// - Returns: nil without calling the closure if another connection runs one now.
    func maintain<Value: Sendable>(
        _ body: @escaping @Sendable (any SQLConnection) throws -> Value
    ) async throws -> Value? {
        let job = Job()
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                queue.async { [self] in continuation.resume(with: Result { try runAlone(job, body) }) }
            }
        } onCancel: {
            if let canceller = job.end() { DispatchQueue.global().async { canceller.cancel() } }
        }
    }

    private func runAlone<Value: Sendable>(
        _ job: Job, _ body: @Sendable (any SQLConnection) throws -> Value
    ) throws -> Value? {
        do {
            let current = try PostgresConnection(url, options: options)
            try job.begin(current.canceller)
            defer { _ = job.finish() }
            // The lock ends with the connection.
            return try current.tryLock("maintain") ? body(current) : nil
        } catch {
            throw job.isCancelled ? CancellationError() : error
        }
    }

    /// Closes the connection.
    func close() async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            queue.async { [self] in
                connection = nil
                continuation.resume()
            }
        }
    }
}

/// The cancellation state of a running transaction.
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

    /// - Returns: true if the job was cancelled.
    func finish() -> Bool {
        state.withLock { state in
            state.canceller = nil
            return state.isCancelled
        }
    }

    /// - Returns: the handle that cancels the statement, or nil if no statement runs.
    func end() -> Canceller? {
        state.withLock { state in
            state.isCancelled = true
            return state.canceller
        }
    }
}
