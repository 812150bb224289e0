import GRDB
import LFSFiles
import LFSStorage
import LFSSystem
import LFSTransfer

extension LFSManager {
    /// What happens to files from now on. Each call is a stream of its own, which ends when the manager stops.
    ///
    /// - Parameter bufferingPolicy: what becomes of events that are not read in time.
    public func events(
        bufferingPolicy: AsyncStream<LFSEvent>.Continuation.BufferingPolicy = .bufferingNewest(1_000)
    ) -> AsyncStream<LFSEvent> {
        hub.listen(bufferingPolicy)
    }

    /// How far the upload of one file is, from now until it is through, given up or cancelled; at once for a file that is
    /// so already.
    ///
    /// The last value of one that is through is complete. One that ends before was given up or cancelled, or its file was
    /// deleted, or the manager has stopped: ``events(bufferingPolicy:)`` tells which.
    /// - Throws: ``LFSError/Code/unknownFile`` when no row has the file and ``makeFile(from:name:contentType:onProgress:)``
    ///   has not made it here either.
    public func progress(of id: FileData.ID) async throws -> AsyncStream<TransferProgress> {
        let (stream, end) = hub.listen(to: id)
        do {
            let upload = try await runner.read { db in try UploadState(of: id, db) }
            if upload == nil, try await !isMade(id) {
                throw LFSError(
                    .unknownFile, "There is no such file in the database, and none was made here to be inserted.",
                    fileID: id)
            }
            if let upload, !upload.isUnderWay { end(upload.isRemote ? upload.complete : nil) }
            return stream
        } catch {
            end(nil)
            throw LFSError.wrapping(error, fileID: id)
        }
    }

    /// Whether the bytes of a file that has no row are on this device.
    private func isMade(_ text: FileData.ID) async throws -> Bool {
        guard let id = FileID(text) else { return false }
        let places = places
        return try await BlockingPool.shared.run { _ in try places.contains(id) }
    }

    /// The numbers of all files of the database.
    public func status() async throws -> LFSStatus {
        do {
            return try await runner.read { db in try LFSStatus(db) }
        } catch {
            throw LFSError.wrapping(error)
        }
    }

    /// Returns when nothing is queued, running or waiting for a retry on this device, and says what failed.
    ///
    /// It waits on the rows, not on the executors: uploads by another process count, and one that will be tried again
    /// is not through. While uploads are paused it waits.
    /// - Parameter timeout: how long to wait at the most; nil waits as long as it takes.
    /// - Throws: ``LFSError/Code/notRunning`` when the manager does not run, or stops meanwhile.
    @discardableResult
    public func waitForUploads(timeout: Duration? = nil) async throws -> UploadSummary {
        try await wait(timeout) { db in
            try Bool.fetchOne(db, sql: "SELECT NOT EXISTS (SELECT 1 FROM lfs_job WHERE state = 'queued')") ?? false
        }
        return try await answer { db in try UploadSummary(db) }
    }

    /// Takes no further upload until ``resume()``. Those under way go on.
    public func pause() { pool.pause() }

    /// Goes on after ``pause()``. Also worth calling when the network has come back: a storage that was away is tried at once.
    public func resume() {
        pool.resume()
        tombstones.notify()
    }

    /// Queues uploads again that failed or were cancelled, with their count of tries at zero.
    ///
    /// - Parameter ids: the files; nil for all but those whose bytes a verification has found lost: there is nothing to
    ///   upload.
    /// - Returns: how many were queued.
    @discardableResult
    public func retry(_ ids: [FileData.ID]? = nil) async throws -> Int {
        let now = options.wallClock().millisecondsSince1970
        let count = try await runner.write { db in
            let again = """
                UPDATE lfs_job SET state = 'queued', attempts = 0, notBefore = ?, errorCode = NULL, errorMessage = NULL,
                    sentBytes = 0, sentSince = 0
                WHERE state IN ('failed', 'cancelled')
                """
            guard let ids else {
                try db.execute(
                    sql: again + " AND coalesce(errorCode, '') NOT IN (?, ?)",
                    arguments: [now, JobRow.lostCode, JobRow.damagedCode])
                return db.changesCount
            }
            let one = try db.cachedStatement(sql: again + " AND fileID = ?")
            return try ids.reduce(0) { count, id in
                try one.execute(arguments: [now, id])
                return count + db.changesCount
            }
        }
        pool.wake()
        return count
    }

    /// Stops the upload of a file, running or not, until ``retry(_:)``. The file stays on this device.
    public func cancel(_ id: FileData.ID) async throws {
        try await runner.write { db in
            try db.execute(
                sql: "UPDATE lfs_job SET state = 'cancelled' WHERE fileID = ? AND state = 'queued'", arguments: [id])
        }
        journal.noteCancellation()
        pool.cancel(id)
        hub.endProgress(id)
        hub.send(.cancelled(id))
        hub.ringWaiters()
    }

    /// Returns when every deletion has been carried out, or has been tried and will be tried again later. While the storage
    /// as a whole is away or refuses us none is tried, and it does not wait for that to end.
    ///
    /// - Returns: how many deleted files still have bytes somewhere; they are removed as soon as the storage allows it.
    /// - Throws: ``LFSError/Code/notRunning`` when the manager does not run, or stops meanwhile.
    @discardableResult
    public func waitForDeletions(timeout: Duration? = nil) async throws -> Int {
        try await wait(timeout) { [pool] db in
            if pool.isKnownAway { return true }
            return try Bool.fetchOne(
                db,
                sql: """
                    SELECT NOT EXISTS (SELECT 1 FROM lfs_tombstone WHERE attempts = 0)
                        AND NOT EXISTS (SELECT 1 FROM lfs_disowned WHERE attempts = 0)
                    """) ?? false
        }
        return try await answer { db in
            try Int.fetchOne(
                db, sql: "SELECT (SELECT count(*) FROM lfs_tombstone) + (SELECT count(*) FROM lfs_disowned)") ?? 0
        }
    }

    /// Lets deletions that failed be tried again now, with their count of tries at zero.
    ///
    /// - Returns: how many there are.
    @discardableResult
    public func retryDeletions() async throws -> Int {
        let count = try await runner.write { db in
            try ["lfs_tombstone", "lfs_disowned"].reduce(0) { count, table in
                try db.execute(
                    sql: "UPDATE \(table) SET attempts = 0, notBefore = 0, errorMessage = NULL WHERE attempts > 0")
                return count + db.changesCount
            }
        }
        tombstones.notify()
        return count
    }

    /// Waits until a question about the rows is answered with yes, or the time is over.
    private func wait(
        _ timeout: Duration?, until isDone: @escaping @Sendable (Database) throws -> Bool
    ) async throws {
        let deadline = timeout.map { ContinuousClock.now + $0 }
        let waiter = hub.addWaiter()
        defer { hub.removeWaiter(waiter.id) }
        while try await !answer(isDone) {
            if let deadline, deadline <= .now { return }
            guard lifecycle.isRunning, !lifecycle.isStopRequested else {
                throw LFSError(.notRunning, "Nothing runs: the LFSManager was stopped, or start() was not called yet.")
            }
            let left = deadline.map { max($0 - .now, .zero) } ?? options.pollInterval
            await waiter.signal.wait(for: min(left, options.pollInterval), clock: options.clock)
            if Task.isCancelled { throw LFSError.wrapping(CancellationError()) }
        }
    }

    /// What the database says, with a cancellation in this module's words.
    private func answer<Value: Sendable>(_ body: @escaping @Sendable (Database) throws -> Value) async throws -> Value {
        do {
            return try await runner.read(body)
        } catch {
            throw LFSError.wrapping(error)
        }
    }
}

/// How the upload of a file stands in its rows.
private struct UploadState: Sendable {
    var isRemote: Bool
    var isUnderWay: Bool
    var complete: TransferProgress

    /// Nil for a file without a row.
    init?(of id: FileData.ID, _ db: Database) throws {
        let row = try Row.fetchOne(
            db,
            sql: """
                SELECT f.status = 'remote', f.byteCount, j.fileID IS NOT NULL
                FROM lfs_file f LEFT JOIN lfs_job j ON j.fileID = f.id AND j.state = 'queued' WHERE f.id = ?
                """,
            arguments: [id])
        guard let row else { return nil }
        let byteCount = Int64.fromDatabaseValue(row[1]) ?? 0
        isRemote = Bool.fromDatabaseValue(row[0]) ?? false
        isUnderWay = Bool.fromDatabaseValue(row[2]) ?? false
        complete = TransferProgress(bytesTransferred: byteCount, totalBytes: byteCount)
    }
}
