import Foundation
import GRDB
import LFS
import LFSSync

extension UploadRun {
    /// Exchanges rows with other devices, if a sync server was given.
    func synchronize() async throws {
        guard let sync else { return }
        defer { report.syncing(nil) }
        let result = try await sync.synchronize { [report] in
            report.syncing(.init(sent: $0.sent, received: $0.received))
        }
        report.synced(result)
    }

    /// Synchronizes like ``synchronize()``. The run continues after a failure.
    func shareRows(isLast: Bool) async {
        do {
            try await synchronize()
        } catch is CancellationError {
            // The end of the run reports the cancellation.
        } catch {
            // Another attempt follows after the uploads.
            if isLast { report.syncFailed(error) }
        }
    }

    /// Reports the names that the sync server does not accept.
    private func reportUnsharedNames() async throws {
        guard sync != nil, table.isOurs else { return }
        for path in try await database.read(DocumentTable.pathsWithoutText) { report.notShared(path) }
    }

    /// Returns the uploads that a backup delays.
    func delayed() async throws -> DelayedUploads? {
        try await database.read { db in try DelayedUploads.find(at: Date(), db) }
    }

    /// Returns the reason why a run has waited without progress, if all of its files are delayed on purpose.
    func delay(_ reason: GaveUp.Reason) async throws -> String? {
        guard purpose == .uploading, case .idle = reason, let delayed = try await delayed() else { return nil }
        return delayed.isAll ? delayed.reason : nil
    }

    var versions: VersionKeeper { VersionKeeper(database: database) }

    /// Removes expired versions, and replaced files that are not kept.
    ///
    /// None is removed while the content of a changed storage is unknown. The old version may be the only one that it
    /// has.
    func removeOldVersions(isThorough: Bool) async throws {
        guard try await database.read(StorageMemory.doubt) == nil else { return }
        report.expired(try await versions.removeSettled(isThorough: isThorough))
    }

    var mover: Mover {
        Mover(
            database: database, table: table, lfs: lfs, storage: saver.storage, report: report, path: path,
            readsBackBefore: isOnFolder ? began : nil)
    }

    /// Carries out the steps after all files are uploaded, except for the copy of the database.
    ///
    /// - Returns: a summary of the uploads.
    func finish() async throws -> UploadSummary {
        // Versions of documents that another device has removed may wait for the next run.
        try await removeOldVersions(isThorough: !report.isWatching)
        if try await database.read(StorageMemory.doubt) == nil {
            try await versions.freeCopies(lfs) { [report] file, error in
                report.message("the local copy of the old version \(file) stays: \(ErrorMessages.sentence(error))")
            }
        }
        await shareRows(isLast: true)
        if let sync, table.isOurs { try await AccountSettings.record(sync, in: database) }
        try await reportUnsharedNames()
        try await reportDeletions()
        // Determined again, because replaced files no longer have failures.
        let summary = try await lfs.waitForUploads()
        try await leaveOutRemovedFiles()
        try await freeAndMove()
        return summary
    }

    /// Returns the sizes of the first queued files.
    func queuedFiles() async throws -> [FileData.ID: Int64] {
        try await database.read { db -> [FileData.ID: Int64] in
            let request = Upload.all().queued().select(Upload.Columns.fileID, Upload.Columns.byteCount)
                .limit(Report.outstandingLimit)
            // Other programs may have written values that are not valid.
            return try Row.fetchAll(db, request).reduce(into: [:]) { files, row in
                guard let id = FileData.ID(stored: row[0]), let byteCount = Int64.fromDatabaseValue(row[1])
                else { return }
                files[id] = byteCount
            }
        }
    }

    /// Leaves files out of the report that another process has removed before their upload.
    private func leaveOutRemovedFiles() async throws {
        for ids in report.outstanding.chunks(of: 500) {
            let left = try await database.read { db -> Set<FileData.ID> in
                let request = FileData.select(FileData.Columns.id).filter(ids.contains(FileData.Columns.id))
                return Set(try Row.fetchAll(db, request).compactMap { FileData.ID(stored: $0[0]) })
            }
            report.removed(unreported: ids.filter { !left.contains($0) })
        }
    }

    /// Frees local copies and moves originals, if requested. Each file is checked separately, so other files may still
    /// wait for their upload.
    func freeAndMove() async throws {
        if ending.freesUploaded, let doubt = try await database.read(StorageMemory.doubt) {
            report.failed(FilePath(path), reason: ErrorMessages.of(doubt))
        } else if ending.freesUploaded {
            let evicted = try await lfs.evict(EvictionPolicy(maxByteCount: 0)) { _ in report.worked() }.evicted
            report.freed(evicted, isLast: true)
        }
        guard let originals = ending.moves else { return }
        // Once originals are removed, only the database knows their names. If copies of the database are kept, one with
        // these names is stored first.
        guard try await saveDatabase() else {
            return report.failed(FilePath(path), reason: "it could not be saved, so the originals stay")
        }
        try await mover.run(originals)
    }

    /// Saves a copy of the database with the files that were uploaded before an interruption. A push that watches
    /// folders always ends this way, and the machine may be lost before the next run.
    func saveAtEnd() async {
        // Unstructured tasks, because the current one is cancelled.
        let saving = Task { [saver] in try await saver.run() }
        let limit = Task {
            try await Task.sleep(for: Self.longestSaving)
            saving.cancel()
        }
        defer { limit.cancel() }
        do {
            let outcome = try await saving.value
            if case .saved = outcome { report.saved(outcome) }
        } catch {
            let reason =
                error is CancellationError
                ? "it would have taken longer than \(Self.longestSaving.components.seconds) s."
                : ErrorMessages.sentence(error)
            report.message("the database was not saved on the storage: \(reason) The next run saves it.")
        }
    }

    /// The time limit for this copy. It is shorter than the time that ``Interruption`` allows for the end of a run.
    private static let longestSaving = Duration.seconds(5)

    /// - Returns: false if the copy failed and has to be tried again.
    @discardableResult
    func saveDatabase() async throws -> Bool {
        do {
            let outcome = try await saver.run()
            // With a sync server, the server has the names as well.
            if case .undecided = outcome, sync != nil { return true }
            report.saved(outcome)
            return true
        } catch {
            // An interrupted run is not reported as a failure to save.
            try Task.checkCancellation()
            report.saveFailed(error)
            return false
        }
    }
}
