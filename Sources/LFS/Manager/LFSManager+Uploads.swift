import GRDB
import LFSDatabase
import LFSFiles
import LFSStorage
public import LFSSystem
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
    public func uploadProgress(of id: FileID) async throws -> AsyncStream<TransferProgress> {
        let (stream, end) = hub.listen(to: id)
        do {
            let upload = try await runner.read { db in try UploadState(of: id, db) }
            if upload == nil, try await !hasLocalCopy(of: id) {
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
            try !JobTable.hasQueued(db)
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
    public func retry(_ ids: [FileID]? = nil) async throws -> Int {
        let now = options.wallClock().millisecondsSince1970
        let count = try await runner.write { db in
            guard let ids else { return try JobTable.queueAllAgain(now: now, db) }
            return try ids.reduce(0) { try $0 + (JobTable.queueAgain($1, now: now, db) ? 1 : 0) }
        }
        pool.wake()
        return count
    }

    /// Stops the upload of a file, running or not, until ``retry(_:)``. The file stays on this device.
    public func cancel(_ id: FileID) async throws {
        try await runner.write { db in try JobTable.cancel(id, db) }
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
            return try !TombstoneTable.hasUntried(db) && !DisownedTable.hasUntried(db)
        }
        return try await answer { db in try TombstoneTable.count(db) + DisownedTable.count(db) }
    }

    /// Lets deletions that failed be tried again now, with their count of tries at zero.
    ///
    /// - Returns: how many there are.
    @discardableResult
    public func retryDeletions() async throws -> Int {
        let count = try await runner.write { db in
            try TombstoneTable.retryAll(db) + DisownedTable.retryAll(db)
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
            await waiter.signal.wait(atMost: min(left, options.pollInterval), clock: options.clock)
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
    init?(of id: FileID, _ db: Database) throws {
        guard let row = try FileTable.state(of: id, db) else { return nil }
        isRemote = row.file.status == .remote
        isUnderWay = row.job == .queued
        complete = TransferProgress(bytesTransferred: row.file.byteCount, totalBytes: row.file.byteCount)
    }
}
