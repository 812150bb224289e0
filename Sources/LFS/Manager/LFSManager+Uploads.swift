import LFSDatabase
public import LFSSystem
import LFSTransfer

/// What happens to uploads and deletions, and how to wait for them.
extension LFSManager {
    /// What happens to files from now on. Each call is a stream of its own, which ends when the manager stops.
    ///
    /// - Parameter bufferingPolicy: what becomes of events that are not read in time.
    public func events(
        bufferingPolicy: AsyncStream<LFSEvent>.Continuation.BufferingPolicy = .bufferingNewest(1_000)
    ) -> AsyncStream<LFSEvent> {
        hub.listen(bufferingPolicy)
    }

    /// Returns the progress of the upload of one file, from now until it has ended. The stream of an upload that has
    /// ended already ends at once.
    ///
    /// The last value of a successful upload is complete. Any other end is an error of the stream: the ``LFSError`` of
    /// the upload that was given up, ``LFSError/Code/cancelled``, ``LFSError/Code/deleted``,
    /// ``LFSError/Code/notUploaded`` for a file that another device has to upload, and ``LFSError/Code/notRunning``
    /// when the manager stops. The stream of a file that is made and never inserted ends with the manager.
    /// - Throws: ``LFSError/Code/unknownFile`` when no row has the file and
    ///   ``makeFile(from:name:contentType:onProgress:)`` has not made it here either.
    public func uploadProgress(of id: FileID) async throws -> AsyncThrowingStream<TransferProgress, any Error> {
        try await LFSError.catching(about: id) {
            try await uploads.progress(of: id) { try await self.hasLocalCopy(of: id) }
        }
    }

    /// The numbers of all files of the database.
    ///
    /// - Throws: the database's error.
    public func status() async throws -> LFSStatus {
        try await LFSError.catching { try await runner.read { db in try LFSStatus(db) } }
    }

    /// Why uploads and deletions wait, if they do: ``LFSStatus/outage`` by itself, which counts no files.
    ///
    /// - Throws: the database's error.
    public func outage() async throws -> StorageOutage? {
        try await LFSError.catching { try await runner.read { db in try StorageOutage(noted: db) } }
    }

    /// Returns when nothing is queued, running or waiting for a retry on this device, and says what failed.
    ///
    /// It waits on the rows, not on the executors: uploads by another process count, and one that will be tried again
    /// is not through. While uploads are paused it waits.
    /// - Parameter timeout: how long to wait at the most; nil waits as long as it takes. When it is over, the summary
    ///   says what still waits; that is no error.
    /// - Throws: ``LFSError/Code/notRunning`` when the manager does not run, or stops meanwhile;
    ///   ``LFSError/Code/cancelled``.
    @discardableResult
    public func waitForUploads(timeout: Duration? = nil) async throws -> UploadSummary {
        try await LFSError.catching { try await uploads.wait(timeout) }
    }

    /// Takes no further upload until ``resume()``. Those under way go on.
    public func pause() { pool.pause() }

    /// Whether it is between ``pause()`` and ``resume()``.
    public var isPaused: Bool { pool.isPaused }

    /// Goes on after ``pause()``. Also worth calling when the network has come back: a storage that was away is tried
    /// at once.
    public func resume() {
        pool.resume()
        tombstones.notify()
    }

    /// Takes no further upload until ``releaseUploads()``, because a condition of the app's is not met, and notes the
    /// reason for ``LFSStatus/hold``. Those under way go on. It is apart from ``pause()``: an upload begins when there
    /// is neither.
    ///
    /// It holds for this manager. Where another process uploads for the database, that one holds.
    /// - Parameter reason: a few words for a person, such as `waits for mains power`; called again with another one,
    ///   the time since when uploads wait stays.
    /// - Throws: the database's error. The uploads are held all the same.
    public func holdUploads(because reason: String) async throws {
        pool.hold(true)
        try await note(hold: reason)
    }

    /// Goes on after ``holdUploads(because:)``.
    ///
    /// - Throws: the database's error. The uploads go on all the same.
    public func releaseUploads() async throws {
        pool.hold(false)
        try await note(hold: nil)
    }

    private func note(hold reason: String?) async throws {
        let now = options.wallClock().millisecondsSince1970
        try await LFSError.catching { try await runner.write { db in try StateTable.noteHold(reason, now: now, db) } }
    }

    /// Queues uploads again that failed or were cancelled, with their count of tries at zero. Where no files are named,
    /// those that were tried and wait for their next try are tried now, too.
    ///
    /// No event tells of it: the rows and their observation do, as for every change of the queue.
    /// - Parameter ids: the files; nil for all but those whose bytes are noted as lost or damaged: of these there is
    ///   nothing right to upload.
    /// - Returns: how many were queued.
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

    /// Returns when every deletion has been carried out, or has been tried and will be tried again later. While the
    /// storage as a whole is away or refuses us none is tried, and it does not wait for that to end.
    ///
    /// - Returns: how many deleted files still have bytes somewhere; they are removed as soon as the storage allows it.
    /// - Throws: ``LFSError/Code/notRunning`` when the manager does not run, or stops meanwhile;
    ///   ``LFSError/Code/cancelled``.
    @discardableResult
    public func waitForDeletions(timeout: Duration? = nil) async throws -> Int {
        try await LFSError.catching { try await deletions.wait(timeout) }
    }

    /// Lets deletions that failed be tried again now, with their count of tries at zero.
    ///
    /// - Returns: how many had failed.
    /// - Throws: the database's error.
    @discardableResult
    public func retryDeletions() async throws -> Int {
        try await LFSError.catching { try await deletions.retry() }
    }
}
