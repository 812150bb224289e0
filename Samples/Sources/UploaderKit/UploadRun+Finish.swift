import Foundation
import GRDB
import LFS
import LFSSync

extension UploadRun {
    /// Sends rows and takes those of other devices, where a sync server was given.
    func synchronize() async throws {
        guard let sync else { return }
        defer { report.syncing(nil) }
        let result = try await sync.synchronize { [report] in
            report.syncing(.init(sent: $0.sent, received: $0.received))
        }
        report.synced(result)
    }

    /// As ``synchronize()``, for a run whose own work goes on without.
    func shareRows(isLast: Bool) async {
        do {
            try await synchronize()
        } catch is CancellationError {
            // The run ends, and says so.
        } catch {
            // Once more when the uploads are through.
            if isLast { report.syncFailed(error) }
        }
    }

    /// Reports the names that the sync server does not take.
    private func reportUnsharedNames() async throws {
        guard sync != nil, table.isOurs else { return }
        for path in try await database.read(DocumentTable.pathsWithoutText) { report.notShared(path) }
    }

    /// What a backup lets wait before it is uploaded.
    func delayed() async throws -> DelayedUploads? {
        try await database.read { db in try DelayedUploads.find(at: Date(), db) }
    }

    /// Why a run has waited in vain, where all of its files let themselves wait.
    func delay(_ reason: GaveUp.Reason) async throws -> String? {
        guard purpose == .uploading, case .idle = reason, let delayed = try await delayed() else { return nil }
        return delayed.isAll ? delayed.reason : nil
    }

    var versions: VersionKeeper { VersionKeeper(database: database) }

    /// Removes old versions whose time is over, and replaced files that are not kept.
    ///
    /// None goes while nobody knows what a changed storage has: the old version may be all that it has of a file.
    func removeOldVersions(isThorough: Bool) async throws {
        guard try await database.read(StorageMemory.doubt) == nil else { return }
        report.expired(try await versions.removeSettled(isThorough: isThorough))
    }

    var mover: Mover {
        Mover(
            database: database, table: table, lfs: lfs, storage: saver.storage, report: report, path: path,
            readsBackBefore: isOnFolder ? began : nil)
    }

    /// Does what comes when everything is offloaded, but for the copy of the database.
    ///
    /// - Returns: what became of the uploads.
    func finish() async throws -> UploadSummary {
        // What another device has removed may wait for the next run.
        try await removeOldVersions(isThorough: !report.isWatching)
        if try await database.read(StorageMemory.doubt) == nil {
            try await versions.freeCopies(lfs) { [report] file, error in
                report.message("the local copy of the old version \(file) stays: \(Words.sentence(error))")
            }
        }
        await shareRows(isLast: true)
        try await reportUnsharedNames()
        try await reportDeletions()
        // Asked again, because what was replaced has no failures any more.
        let summary = try await lfs.waitForUploads()
        try await freeAndMove()
        return summary
    }

    /// Frees local copies and moves originals, where that was asked for. Each file is looked at by itself, so it may be
    /// done while others wait for their upload.
    func freeAndMove() async throws {
        if ending.freesUploaded, let doubt = try await database.read(StorageMemory.doubt) {
            report.failed(FilePath(path), Words.of(doubt))
        } else if ending.freesUploaded {
            let evicted = try await lfs.evict(EvictionPolicy(maxByteCount: 0)) { _ in report.worked() }.evicted
            report.freed(evicted, isLast: true)
        }
        guard let originals = ending.moves else { return }
        // Once originals are gone, their names are in the database only: where copies of it are kept, the storage has
        // one with them before.
        guard try await saveDatabase() else {
            return report.failed(FilePath(path), "it could not be saved, so the originals stay")
        }
        try await mover.run(originals)
    }

    /// Keeps a copy of the database of what was offloaded before an interruption: a push that watches folders ends in
    /// no other way, and the machine may be lost before the next one.
    func saveAtEnd() async {
        // Tasks of their own: this one is cancelled.
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
                ? "it would have taken longer than \(Self.longestSaving.components.seconds) s." : Words.sentence(error)
            report.message("the database was not saved on the storage: \(reason) The next run saves it.")
        }
    }

    /// Less than the time that ``Interruption`` leaves for the end.
    private static let longestSaving = Duration.seconds(5)

    /// - Returns: false when it failed, so that it has to be tried again.
    @discardableResult
    func saveDatabase() async throws -> Bool {
        do {
            let outcome = try await saver.run()
            // With a sync server the names are on that as well.
            if case .undecided = outcome, sync != nil { return true }
            report.saved(outcome)
            return true
        } catch {
            // A run that was interrupted is not one that could not save.
            try Task.checkCancellation()
            report.saveFailed(error)
            return false
        }
    }
}
