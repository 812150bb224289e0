package import GRDB
import LFSSystem
import Synchronization

/// The only component through which LFS reads and writes the database. It uses the host's own writer.
///
/// Concurrent writes are committed together: a write that arrives while the writer is busy joins the next transaction.
/// Between two transactions the writer's queue is free for the host. No call waits for the network. A write that has
/// started is not cancelled with its task, because other writes may share the transaction.
///
/// A full disk throws ``TableError/Code/noSpace``, a connection that cannot write ``TableError/Code/readOnly``, a
/// suspended one ``TableError/Code/suspended``, and a closed one ``TableError/Code/closed``. Other errors of the
/// database are passed on unchanged.
///
/// The writer waits for the locks of other connections. If the host has set no busy mode, the runner sets a timeout
/// before it first uses the writer. The readers of a pool have a timeout by GRDB's default.
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
        /// True if the writer waits for the locks of other connections.
        var hasBusyTimeout = false
    }

    /// The time that the writer waits for a lock, in milliseconds. It equals that of the readers of GRDB's pools.
    private static let busyTimeout = 10_000

    /// The most writes in one transaction, which keeps it short when many wait.
    private static let operationsPerTransaction = 64

    private let writer: any DatabaseWriter
    /// Updates a counter row so that SQLite syncs the commit. It does not sync a transaction without changes.
    private let touch: @Sendable (Database) throws -> Void
    private let state = Mutex(State())

    /// - Parameters:
    ///   - writer: the host's writer.
    ///   - touch: changes an existing row without a visible effect. Used by durable writes.
    package init(
        _ writer: any DatabaseWriter, touch: @escaping @Sendable (Database) throws -> Void = StateTable.touch
    ) {
        self.writer = writer
        self.touch = touch
    }

    /// The number of writes that wait for their transaction.
    package var pendingCount: Int { state.withLock { $0.pending.count } }

    package func read<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        try Task.checkCancellation()
        return try await readThroughCancellation(body)
    }

    /// Reads like ``read(_:)``, but also in a cancelled task.
    package func readThroughCancellation<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws -> Value {
        do { return try await writer.readOnQueue(body) } catch { throw Self.wording(error) }
    }

    /// Runs the body in a transaction that other writes may share. The body may run twice, so it must only read and
    /// write rows.
    package func write<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        let result = ResultBox<Value>()
        return try await withCheckedThrowingContinuation { continuation in
            let operation = Operation(
                run: { db in result.put(try body(db)) },
                finish: { error in
                    if let error { return continuation.resume(throwing: Self.wording(error)) }
                    guard let value = result.value else {
                        return continuation.resume(throwing: DatabaseError(resultCode: .SQLITE_ABORT))
                    }
                    continuation.resume(returning: value)
                })
            let isFirst = state.withLock { state in
                state.pending.append(operation)
                defer { state.isScheduled = true }
                return !state.isScheduled
            }
            if isFirst { schedule() }
        }
    }

    /// Returns a number that changes when a connection other than the writer commits.
    ///
    /// Source: SQLite, `PRAGMA data_version`.
    package func dataVersion() async throws -> Int64? {
        try await withWriter { db in try Int64.fetchOne(db, sql: "PRAGMA data_version") }
    }

    /// Runs the body in its own transaction. When the call returns, this commit and all earlier ones are on the device,
    /// regardless of the host's `synchronous` and `fullfsync` settings. Bytes are removed only after such a commit.
    package func writeDurably<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws -> Value {
        try await withWriter { [touch] db in try Self.transactDurably(db, touch, body) }
    }

    /// Runs the body exactly once, in its own transaction. For a body with effects other than rows.
    package func writeAlone<Value: Sendable>(
        _ body: @escaping @Sendable (Database) throws -> Value
    ) async throws -> Value {
        try await withWriter { db in try Self.transactAlone(db, body) }
    }

    /// Runs the body on the writer outside of any transaction. For work that concerns the connection rather than the
    /// data.
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
        // 2 is FULL, 3 is EXTRA (pragma.html#pragma_synchronous). In WAL mode, FULL syncs the whole log at the commit.
        // On Apple platforms a sync reaches the medium only with fullfsync (pragma.html#pragma_fullfsync). On other
        // systems fullfsync has no effect.
        let flushes = try Bool.fetchOne(db, sql: "PRAGMA fullfsync") ?? false
        if !flushes { try db.execute(sql: "PRAGMA fullfsync = ON") }
        defer {
            if !flushes {
                do {
                    try db.execute(sql: "PRAGMA fullfsync = OFF")
                } catch {
                    // If the setting stays ON, commits are slower but safer.
                }
            }
        }
        if before < 2 { try db.execute(sql: "PRAGMA synchronous = FULL") }
        defer {
            if before < 2 {
                do {
                    try db.execute(sql: "PRAGMA synchronous = \(before)")
                } catch {
                    // If the setting stays FULL, commits are slower but safer.
                }
            }
        }
        return try transactAlone(db) { db in
            try touch(db)
            return try body(db)
        }
    }

    /// Converts the error of a full disk, or of a read-only or suspended connection, to a `TableError`. Returns any
    /// other error unchanged.
    private static func wording(_ error: any Error) -> any Error {
        guard let error = error as? DatabaseError else { return error }
        if error.isNoSpace {
            return TableError(
                .noSpace, message: "The disk that holds the database is full. Make room on it, then try again.",
                cause: error)
        }
        // If the database file was moved away, the remedy is another one, and SQLite's message explains it.
        if error.resultCode == .SQLITE_READONLY, error.extendedResultCode != .SQLITE_READONLY_DBMOVED {
            return TableError.readOnly(cause: error)
        }
        if error.isSuspension { return TableError.suspended(cause: error) }
        return error
    }

    // MARK: The writer

    /// Runs the body on the writer's own queue. If the connection was closed, the body receives an error instead.
    private func onWriter(_ body: @escaping @Sendable (Result<Database, any Error>) -> Void) {
        writer.asyncWriteWithoutTransaction { db in body(Result { try self.prepared(db) }) }
    }

    /// Returns the connection after making sure that it waits for the locks of other connections.
    ///
    /// GRDB's default mode fails at the first lock of another connection: `SQLITE_BUSY`, "database is locked". Source:
    /// SQLite, `PRAGMA busy_timeout`, which returns 0 for a connection without a timeout.
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

    /// Commits a batch in one transaction. If that fails, commits each write alone, so that only the failing ones get
    /// an error.
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

extension DatabaseError {
    /// True for a statement that GRDB has refused because the connection is suspended. GRDB has no code for it.
    fileprivate var isSuspension: Bool { resultCode == .SQLITE_ABORT && message == "Database is suspended" }

    /// True for a full disk. The second code means that the disk has no page left to extend the shared-memory index of
    /// the log.
    package var isNoSpace: Bool {
        resultCode == .SQLITE_FULL || extendedResultCode == .SQLITE_IOERR_SHMSIZE
    }
}
