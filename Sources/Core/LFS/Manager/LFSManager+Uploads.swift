import LFSDatabase
public import LFSSystem
import LFSTransfer

/// State and control of uploads and deletions, and waiting for them.
extension LFSManager {
    /// Returns the events of files from now on. Each call returns a separate stream, which ends when the manager stops.
    ///
    /// - Parameter bufferingPolicy: the treatment of events that are not read in time. The default keeps the newest
    ///   1,000.
    public func events(
        bufferingPolicy: AsyncStream<LFSEvent>.Continuation.BufferingPolicy = .bufferingNewest(1_000)
    ) -> AsyncStream<LFSEvent> {
        hub.listen(bufferingPolicy)
    }

    /// Returns the progress of the upload of one file, from now until it has ended. The stream of an upload that has
    /// already ended finishes at once.
    ///
    /// The last value of a successful upload is complete. The stream ends with an error in all other cases: the
    /// ``LFSError`` of a failed upload, ``LFSError/Code/cancelled``, ``LFSError/Code/deleted``,
    /// ``LFSError/Code/notUploaded`` for a file that another device has to upload, and ``LFSError/Code/notRunning``
    /// when the manager stops. The stream of a file that is made and never inserted ends with the manager.
    /// - Throws: ``LFSError/Code/unknownFile`` when no row has the file and
    ///   ``makeFile(from:name:contentType:onProgress:)`` has not made it on this device either.
    public func uploadProgress(of id: FileID) async throws -> AsyncThrowingStream<TransferProgress, any Error> {
        try await LFSError.catching(about: id) {
            try await uploads.progress(of: id) { try await self.hasLocalCopy(of: id) }
        }
    }

    /// Returns the counts of all files of the database.
    ///
    /// - Throws: the database's error.
    public func status() async throws -> LFSStatus {
        try await LFSError.catching { try await runner.read { db in try LFSStatus(db) } }
    }

    /// Returns the reason why all uploads and deletions are delayed, if there is one. It reads only
    /// ``LFSStatus/outage``, and counts no files.
    ///
    /// - Throws: the database's error.
    public func outage() async throws -> StorageOutage? {
        try await LFSError.catching { try await runner.read { db in try StorageOutage(noted: db) } }
    }

    /// Waits until no upload of this device is queued, running or waiting for a retry, and returns a summary of the
    /// failures.
    ///
    /// It watches the rows, not the executors. Uploads by another process are included, and an upload that will be
    /// retried is not finished. It also waits while uploads are paused.
    /// - Parameter timeout: the maximum time to wait. Nil waits without a limit. After the timeout the summary gives
    ///   the pending uploads, and no error is thrown.
    /// - Throws: ``LFSError/Code/notRunning`` when the manager is not running or stops during the call, and
    ///   ``LFSError/Code/cancelled``.
    @discardableResult
    public func waitForUploads(timeout: Duration? = nil) async throws -> UploadSummary {
        try await LFSError.catching { try await uploads.wait(timeout) }
    }

    /// Starts no further upload until ``resume()``. Running uploads continue.
    public func pause() { pool.pause() }

    /// True between ``pause()`` and ``resume()``.
    public var isPaused: Bool { pool.isPaused }

    /// Continues after ``pause()``. Call it also when the network is back: an unreachable storage is then retried at
    /// once.
    public func resume() {
        pool.resume()
        tombstones.notify()
    }

    /// Starts no further upload until ``releaseUploads()``, because a condition of the app is not met. Records the
    /// reason for ``LFSStatus/hold``. Running uploads continue. A hold is independent of ``pause()``: uploads start
    /// only when neither is active.
    ///
    /// It applies to this manager. If another process uploads for the database, hold the uploads in that process.
    /// - Parameter reason: a few words for a person, such as `waits for mains power`. A later call with another reason
    ///   keeps the start time of the hold.
    /// - Throws: the database's error. The uploads are held nevertheless.
    public func holdUploads(because reason: String) async throws {
        pool.hold(true)
        try await note(hold: reason)
    }

    /// Continues after ``holdUploads(because:)``.
    ///
    /// - Throws: the database's error. The uploads continue nevertheless.
    public func releaseUploads() async throws {
        pool.hold(false)
        try await note(hold: nil)
    }

    private func note(hold reason: String?) async throws {
        let now = options.wallClock().millisecondsSince1970
        try await LFSError.catching { try await runner.write { db in try StateTable.noteHold(reason, now: now, db) } }
    }

    /// Queues failed or cancelled uploads again and resets their count of attempts to zero. Without `ids`, uploads that
    /// wait for their next attempt are retried now, too.
    ///
    /// It sends no event. Observe the rows, as for every change of the queue.
    /// - Parameter ids: the files. Nil for all except those whose bytes are recorded as lost or damaged, because they
    ///   have no correct bytes to upload.
    /// - Returns: the number of queued uploads.
    /// - Throws: the database's error.
    @discardableResult
    public func retry(_ ids: [FileID]? = nil) async throws -> Int {
        try await LFSError.catching { try await uploads.retry(ids) }
    }

    /// Stops the upload of a file, running or not, until ``retry(_:)``. The file stays on this device.
    ///
    /// - Throws: the database's error.
    public func cancel(_ id: FileID) async throws {
        try await LFSError.catching(about: id) { try await uploads.cancel(id) }
    }

    // MARK: Deletions

    /// Waits until every deletion has been carried out, or has been attempted and will be retried later. While the
    /// whole storage is unreachable or refuses access, no deletion is attempted, and the method does not wait for the
    /// end of the outage.
    ///
    /// - Returns: the number of deleted files that still have bytes on this device or the storage. They are removed as
    ///   soon as the storage permits it.
    /// - Throws: ``LFSError/Code/notRunning`` when the manager is not running or stops during the call, and
    ///   ``LFSError/Code/cancelled``.
    @discardableResult
    public func waitForDeletions(timeout: Duration? = nil) async throws -> Int {
        try await LFSError.catching { try await deletions.wait(timeout) }
    }

    /// Retries failed deletions now and resets their count of attempts to zero.
    ///
    /// - Returns: the number of deletions that had failed.
    /// - Throws: the database's error.
    @discardableResult
    public func retryDeletions() async throws -> Int {
        try await LFSError.catching { try await deletions.retry() }
    }
}
