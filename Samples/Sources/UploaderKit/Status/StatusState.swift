import Foundation
import GRDB
import LFS
import LFSSync

/// What a database tells of its files, read at one moment.
struct StatusState {
    let status: LFSStatus
    /// What `list` shows: several may have one file. Nil for the database of another app.
    let documents: Int?
    let storage: String?
    /// Since when that is another storage that was not verified.
    let changedAt: Date?
    /// When a copy of the database was stored there last.
    let savedAt: Date?
    let sync: SyncReport?
    /// Nil in the database of an older uploader, and of another app.
    let old: (totals: VersionTable.Removed, memory: VersionMemory)?
    let waitingDeletions: Int
    /// Removals that the sync server has not accepted yet.
    let heldDeletions: Int
    let retrying: [UploadReason]
    /// The first thousand.
    let failures: [(upload: Upload, path: FilePath?)]

    init(_ table: DocumentTable, _ db: Database) throws {
        (status, storage, sync) = (try LFSStatus(db), try StorageMemory.shown(db), try SyncReport.fetch(db))
        documents = table.isOurs ? try DocumentTable.count(db) : nil
        changedAt = table.isOurs ? try StorageMemory.changedAt(db) : nil
        savedAt = table.isOurs ? try DatabaseSaver.Memory.fetch(db).savedAt : nil
        let hasVersions = try table.isOurs && VersionTable.isThere(db)
        old = hasVersions ? (try VersionTable.totals(db), try VersionMemory.fetch(db)) : nil
        waitingDeletions = try WaitingDeletions.count(db)
        heldDeletions = try WaitingDeletions.heldCount(db)
        retrying = try UploadReason.ofWaiting(db)
        failures = try Upload.all().failed().order(Upload.Columns.fileID).limit(1_000).fetchAll(db)
            .map { upload in (upload, try table.path(of: upload.fileID, db)) }
    }

    // MARK: Words

    var lines: [String] {
        fileLines + waitingLines
            + retrying.prefix(10).map { "retrying \(Format.count($0.files, "file")): \($0.reason)" } + failureLines
    }

    /// What is where.
    private var fileLines: [String] {
        var lines = [
            "\(Format.count(status.files, "file")): \(Format.count(status.remote)) remote, "
                + "\(Format.count(status.local)) local, \(Format.count(status.failed)) failed, "
                + "\(Format.bytes(status.pendingBytes)) to upload"
        ]
        if let documents, documents > status.files {
            lines.append("\(Format.count(documents, "document")) with them: equal content is kept once")
        }
        if let storage { lines.append("on \(storage)") }
        if let changedAt {
            let time = Format.time(since: changedAt)
            lines.append("which is another storage since \(time): 'verify' says what is there")
        }
        if let savedAt { lines.append("the database was saved there \(Format.time(since: savedAt)) ago") }
        if let old, let versions = StatusFigures.Versions(old.totals, old.memory) {
            let count = Format.count(versions.count, "old version")
            lines.append("\(count), \(Format.bytes(versions.bytes)), \(old.memory.holding.words)")
        }
        return lines
    }

    /// What is not done yet, and why.
    private var waitingLines: [String] {
        var lines: [String] = []
        if waitingDeletions > 0 {
            let count = Format.count(waitingDeletions, "removed file")
            lines.append("\(count) with bytes on the storage: 'resume' deletes them")
        }
        if heldDeletions > 0 {
            let count = Format.count(heldDeletions, "removed file")
            lines.append("\(count) with bytes on the storage until the sync server accepts the removal: run 'sync'")
        }
        if let outage = status.outage {
            let time = Format.time(since: outage.since)
            lines.append("the storage is away or refuses, for \(time): \(outage.reason)")
        }
        if let since = status.failingSince { lines.append("uploads fail, for \(Format.time(since: since))") }
        if let hold = status.hold {
            lines.append("no upload begins, for \(Format.time(since: hold.since)): \(hold.reason)")
        }
        if let sync {
            let (pending, parked) = (Format.count(sync.pending, "change"), Format.count(sync.parked, "row"))
            lines.append(
                "shared: \(pending) to send, \(parked) of others waiting, \(Format.count(sync.rejected)) refused")
        }
        return lines
    }

    private var failureLines: [String] {
        let lines = failures.map { upload, path in
            "failed \(path?.description ?? upload.fileID.uuidString): \(upload.reason ?? "for an unknown reason")"
        }
        let rest = status.failed - failures.count
        return rest > 0 ? lines + ["\(Format.count(rest)) more failed; see 'list --status failed'"] : lines
    }
}
