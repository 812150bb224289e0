package import GRDB
import Synchronization

/// The one place through which LFS reads and writes the database, on the host's own writer.
///
/// Writes that come together are committed together: whatever arrives while the writer is busy joins the next
/// transaction. Between two transactions the writer's queue is free for the host. No call here waits for the network,
/// and a write that has begun is not cancelled with the task that asked for it, because others may share it.
///
/// A full disk is ``TableError/Code/noSpace``, a connection that cannot write ``TableError/Code/readOnly``, and a
/// closed one ``TableError/Code/closed``. Other errors of the database pass unchanged.
///
/// The writer waits for the locks of other connections: where the host has set no busy mode, the runner sets a timeout
/// before its first use of the writer. The readers of a pool have one by GRDB's default.
///
/// Transactions run on the writer's own queue.
package final class BackgroundRunner: Sendable {
    private struct Operation {
        var run: @Sendable (Database) throws -> Void
        var finish: @Sendable ((any Error)?) -> Void
    }

    private struct State {
        var pending: [Operation] = []
        var isScheduled = false
        /// Whether the writer waits for the locks of other connections.
        var hasBusyTimeout = false
    }

    /// The time that the writer waits for a lock, in milliseconds: as long as the readers of GRDB's pools.
    private static let busyTimeout = 10_000

    /// How many writes one transaction takes, so that it stays short when many wait.
    private static let operationsPerTransaction = 64

    private let writer: any DatabaseWriter
    /// Changes a row in a way that means nothing: SQLite syncs nothing for a transaction that changes nothing.
    private let touch: @Sendable (Database) throws -> Void
    private let state = Mutex(State())

    /// - Parameters:
    ///   - writer: the host's.
    ///   - touch: changes a row that is there, in a way that means nothing; for durable writes.
    package init(
        _ writer: any DatabaseWriter, touch: @escaping @Sendable (Database) throws -> Void = StateTable.touch
    ) {
        (self.writer, self.touch) = (writer, touch)
    }

    /// Writes that wait for their transaction.
    package var pendingCount: Int { state.withLock { $0.pending.count } }

    package func read<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        try Task.checkCancellation()
        return try await readThroughCancellation(body)
    }

    /// As ``read(_:)``, for work that has to be done in a cancelled task too.
    package func readThroughCancellation<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws -> Value {
        do { return try await writer.readOnQueue(body) } catch { throw Self.wording(error) }
    }

    /// Runs the body in a transaction that others may share. It may run twice, so it does nothing but read and write
    /// rows.
    package func write<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        let result = Slot<Value>()
        return try await withCheckedThrowingContinuation { continuation in
            let operation = Operation(
                run: { db in
                    let value = try body(db)
                    result.value.withLock { $0 = value }
                },
                finish: { error in
                    if let error { return continuation.resume(throwing: Self.wording(error)) }
                    continuation.resume(with: Result { try result.get() })
                })
            let isFirst = state.withLock { state in
                state.pending.append(operation)
                defer { state.isScheduled = true }
                return !state.isScheduled
            }
            if isFirst { schedule() }
        }
    }

    /// A number that is another one after another connection than the writer has committed.
    ///
    /// Source: SQLite, `PRAGMA data_version`.
    package func dataVersion() async throws -> Int64? {
        try await withWriter { db in try Int64.fetchOne(db, sql: "PRAGMA data_version") }
    }

    /// Runs the body in a transaction of its own that is on the device when the call returns, and with it every commit
    /// before it, whatever the host's `synchronous` and `fullfsync` settings. Bytes are removed only after such a
    /// commit.
    package func writeDurably<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws -> Value {
        try await withWriter { [touch] db in try Self.transactDurably(db, touch, body) }
    }

    /// Runs the body, once, in a transaction of its own: for what takes more than rows with it.
    package func writeAlone<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws -> Value {
        try await withWriter { db in try Self.transactAlone(db, body) }
    }

    /// Runs the body on the writer outside of any transaction, for what belongs to the connection and not to the data.
    package func withWriter<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            onWriter { db in
                continuation.resume(with: Result { try body(try db.get()) }.mapError(Self.wording))
            }
        }
    }

    private static func transactAlone<Value>(_ db: Database, _ body: (Database) throws -> Value) throws -> Value {
        var result: Value?
        try db.inTransaction(.immediate) {
            result = try body(db)
            return .commit
        }
        guard let result else { throw DatabaseError(resultCode: .SQLITE_ABORT) }
        return result
    }

    private static func transactDurably<Value>(
        _ db: Database, _ touch: (Database) throws -> Void, _ body: (Database) throws -> Value
    ) throws -> Value {
        let before = try Int.fetchOne(db, sql: "PRAGMA synchronous") ?? 2
        // 2 is FULL, 3 is EXTRA (pragma.html#pragma_synchronous). In WAL mode FULL syncs the whole log at the commit.
        // On Apple platforms a sync reaches the medium only with this setting (pragma.html#pragma_fullfsync). Elsewhere
        // it has no effect.
        let flushes = try Bool.fetchOne(db, sql: "PRAGMA fullfsync") ?? false
        if !flushes { try db.execute(sql: "PRAGMA fullfsync = ON") }
        defer {
            if !flushes {
                do {
                    try db.execute(sql: "PRAGMA fullfsync = OFF")
                } catch {
                    // Staying at ON is slower and safer; nothing is lost by it.
                }
            }
        }
        if before < 2 { try db.execute(sql: "PRAGMA synchronous = FULL") }
        defer {
            if before < 2 {
                do {
                    try db.execute(sql: "PRAGMA synchronous = \(before)")
                } catch {
                    // Staying at FULL is slower and safer; nothing is lost by it.
                }
            }
        }
        return try transactAlone(db) { db in
            try touch(db)
            return try body(db)
        }
    }

    /// Returns the error of a full disk or of a read-only connection in this module's words; any other one unchanged.
    private static func wording(_ error: any Error) -> any Error {
        guard let error = error as? DatabaseError else { return error }
        if error.isNoSpace {
            return TableError(
                .noSpace, "The disk that holds the database is full. Make room on it, then try again.", cause: error)
        }
        // A database whose file was moved away has another remedy, and SQLite's own words.
        if error.resultCode == .SQLITE_READONLY, error.extendedResultCode != .SQLITE_READONLY_DBMOVED {
            return TableError.readOnly(cause: error)
        }
        return error
    }

    // MARK: The writer

    /// Runs the body on the writer's own queue, with an error in place of a connection that was closed.
    private func onWriter(_ body: @escaping @Sendable (Result<Database, any Error>) -> Void) {
        writer.asyncWriteWithoutTransaction { db in body(Result { try self.prepared(db) }) }
    }

    /// Returns the connection once it waits for the locks of others.
    ///
    /// GRDB's default mode fails at the first lock of another connection: `SQLITE_BUSY`, "database is locked".
    /// Source: SQLite, `PRAGMA busy_timeout`, which answers 0 for a connection without a timeout.
    private func prepared(_ db: Database) throws -> Database {
        guard db.sqliteConnection != nil else { throw TableError.closed }
        if state.withLock({ $0.hasBusyTimeout }) { return db }
        if case .immediateError = writer.configuration.busyMode,
            try Int.fetchOne(db, sql: "PRAGMA busy_timeout") == 0
        {
            try db.execute(sql: "PRAGMA busy_timeout = \(Self.busyTimeout)")
        }
        state.withLock { $0.hasBusyTimeout = true }
        return db
    }

    private func schedule() {
        onWriter { db in
            let batch = self.state.withLock { state in
                let batch = Array(state.pending.prefix(Self.operationsPerTransaction))
                state.pending.removeFirst(batch.count)
                return batch
            }
            do {
                Self.run(batch, try db.get())
            } catch {
                for operation in batch { operation.finish(error) }
            }
            let hasMore = self.state.withLock { state in
                state.isScheduled = !state.pending.isEmpty
                return state.isScheduled
            }
            if hasMore { self.schedule() }
        }
    }

    /// Commits a batch as one; if that fails, each alone, so that only those with an error of their own get one.
    private static func run(_ batch: [Operation], _ db: Database) {
        do {
            try transact(batch, db)
            for operation in batch { operation.finish(nil) }
        } catch {
            if batch.count > 1 { return batch.forEach { run([$0], db) } }
            for operation in batch { operation.finish(error) }
        }
    }

    private static func transact(_ batch: [Operation], _ db: Database) throws {
        try db.inTransaction(.immediate) {
            for operation in batch { try operation.run(db) }
            return .commit
        }
    }
}

/// Carries a value out of the transaction that made it.
private final class Slot<Value: Sendable>: Sendable {
    let value = Mutex<Value?>(nil)

    func get() throws -> Value {
        guard let value = value.withLock({ $0 }) else { throw DatabaseError(resultCode: .SQLITE_ABORT) }
        return value
    }
}

extension DatabaseError {
    /// The second code: the index of the log in memory could not be made longer, for which the disk has no page.
    package var isNoSpace: Bool {
        resultCode == .SQLITE_FULL || extendedResultCode == .SQLITE_IOERR_SHMSIZE
    }
}
