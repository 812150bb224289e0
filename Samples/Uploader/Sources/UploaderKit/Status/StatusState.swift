import Foundation
import GRDB
import LFS
import LFSSync

/// The state of a database's files, read in one transaction.
struct StatusState {
    let status: LFSStatus
    /// The number of entries in `list`. Several may share a file. Nil for the database of another app.
    let documents: Int?
    let storage: String?
    /// The time of the change to this storage, if it has not been verified since.
    let changedAt: Date?
    /// The time when the last copy of the database was stored on it.
    let savedAt: Date?
    let sync: SyncReport?
    /// Nil in the database of an older uploader or of another app.
    let old: (totals: VersionTable.Removed, memory: VersionMemory)?
    let waitingDeletions: Int
    /// The number of removals that the sync server has not accepted yet.
    let heldDeletions: Int
    let unqueued: UnqueuedFiles
    let retrying: [UploadReason]
    /// The first thousand failures.
    let failures: [(upload: Upload, path: FilePath?, advice: String?)]
    /// The uploads that wait for the delay of a backup, and the time when the last of them may start.
    let delayed: (files: Int, until: Date)?

    init(_ table: DocumentTable, _ db: Database) throws {
        status = try LFSStatus(db)
        storage = try StorageMemory.shown(db)
        sync = try SyncReport.fetch(db)
        documents = table.isOurs ? try DocumentTable.count(db) : nil
        changedAt = table.isOurs ? try StorageMemory.changedAt(db) : nil
        savedAt = table.isOurs ? try DatabaseSaver.Memory.fetch(db).savedAt : nil
        let hasVersions = try table.isOurs && VersionTable.isThere(db)
        old = hasVersions ? (try VersionTable.totals(db), try VersionMemory.fetch(db)) : nil
        waitingDeletions = try WaitingDeletions.count(db)
        heldDeletions = try WaitingDeletions.heldCount(db)
        unqueued = try UnqueuedFiles.fetch(db)
        retrying = try UploadReason.ofWaiting(db)
        failures = try Upload.all().failed().order(Upload.Columns.fileID).limit(1_000).fetchAll(db)
            .map { upload in
                let advice = hasVersions ? try VersionTable.advice(on: upload.fileID, db) : nil
                return (upload, try table.path(of: upload.fileID, db), advice)
            }
        let now = Date()
        delayed = try DelayedUploads.find(at: now, db).map { found in
            (found.files, now.addingTimeInterval(found.wait / .seconds(1)))
        }
    }

    // MARK: Text

    var lines: [String] {
        fileLines + unqueued.lines + waitingLines
            + retrying.prefix(10).map { "retrying \(Format.count($0.files, noun: "file")): \($0.reason)" }
            + failureLines
    }

    /// The lines about the places of the files.
    private var fileLines: [String] {
        var lines = [
            "\(Format.count(status.files, noun: "file")): \(Format.count(status.remote)) remote, "
                + "\(Format.count(status.local)) local, \(Format.count(status.failed)) failed, "
                + "\(Format.bytes(status.pendingBytes)) to upload"
        ]
        if let documents, documents > status.files {
            lines.append("\(Format.count(documents, noun: "path")). Files with equal content are stored once.")
        }
        if let storage { lines.append("on \(storage)") }
        if let changedAt {
            let time = Format.time(since: changedAt)
            lines.append("the storage was changed \(time) ago: 'verify' shows which files it has")
        }
        if let savedAt { lines.append("the database was saved there \(Format.time(since: savedAt)) ago") }
        if let old, let versions = StatusFigures.Versions(old.totals, memory: old.memory) {
            let count = Format.count(versions.count, noun: "old version")
            lines.append("\(count), \(Format.bytes(versions.bytes)), \(old.memory.holding.words)")
        }
        return lines
    }

    /// The lines about pending work, with the reasons.
    private var waitingLines: [String] {
        var lines: [String] = []
        if waitingDeletions > 0 {
            let count = Format.count(waitingDeletions, noun: "removed file")
            lines.append(
                "\(count) whose objects or unfinished uploads may remain on the storage: 'resume' deletes them")
        }
        if heldDeletions > 0 {
            let count = Format.count(heldDeletions, noun: "removed file")
            lines.append("\(count) with bytes on the storage until the sync server accepts the removal: run 'sync'")
        }
        if let outage = status.outage {
            let time = Format.time(since: outage.since)
            lines.append("the storage has been unavailable for \(time): \(outage.reason)")
        }
        if let delayed {
            let words =
                delayed.files == 1
                ? "1 file waits for the delay of its backup"
                : "\(Format.count(delayed.files)) files wait for the delay of their backup"
            lines.append("\(words), until \(Format.clock(delayed.until))")
        }
        if let since = status.failingSince { lines.append("uploads have failed for \(Format.time(since: since))") }
        if let hold = status.hold {
            lines.append("uploads have been on hold for \(Format.time(since: hold.since)): \(hold.reason)")
        }
        if let sync {
            let (pending, parked) = (Format.count(sync.pending, noun: "change"), Format.count(sync.parked, noun: "row"))
            lines.append(
                "shared: \(pending) to send, \(parked) of others waiting, \(Format.count(sync.rejected)) refused")
            lines += LackingWords.sentences(sync.lacking)
            if let sentence = QuotaWords.sentence(sync) { lines.append("not shared: \(sentence)") }
        }
        return lines
    }

    private var failureLines: [String] {
        let lines = failures.map { upload, path, advice in
            let reason = upload.reason ?? "for an unknown reason"
            let words = advice.map { "\(ErrorMessages.sentence(reason)) \($0)" } ?? reason
            return "failed \(path?.description ?? upload.fileID.uuidString): \(words)"
        }
        let rest = status.failed - failures.count
        return rest > 0 ? lines + ["\(Format.count(rest)) more failed. See 'list --status failed'."] : lines
    }
}
