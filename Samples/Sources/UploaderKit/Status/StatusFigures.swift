import Foundation
import LFS
import LFSStorage
import LFSSync

/// The one object of `status --json`.
struct StatusFigures: Encodable {
    var files: Int
    /// What `list` shows: several may have one file. nil for the database of another app.
    var documents: Int?
    var local: Int
    var remote: Int
    var failed: Int
    var pendingBytes: Int64
    /// Where the files are; nil as long as none is anywhere.
    var storage: String?
    /// Since when that is another storage that was not verified (ISO 8601).
    var changedAt: String?
    var outage: Outage?
    /// Since when uploads fail (ISO 8601); nil when the last one succeeded.
    var failingSince: String?
    /// What uploads wait for on purpose.
    var hold: Hold?
    /// nil where no other device shares the files.
    var sync: Sync?
    /// When a copy of the database was stored there last (ISO 8601).
    var savedAt: String?
    /// nil as long as nobody has chosen to keep any.
    var versions: Versions?
    /// Files that were removed, and still have bytes on the storage.
    var waitingDeletions: Int
    /// Those whose bytes stay until the sync server has accepted the removal; nil when there are none.
    var heldDeletions: Int?
    /// Why uploads wait that were tried, most files first.
    var retrying: [UploadReason]
    /// Uploads that were given up, the first thousand.
    var failures: [Failure]

    /// Old versions, and what they take.
    struct Versions: Encodable {
        var count: Int
        var bytes: Int64
        /// As `--keep-versions` takes it.
        var keep: String

        init?(_ totals: VersionTable.Removed, _ memory: VersionMemory) {
            guard memory.choice != nil || totals.versions > 0 else { return nil }
            (count, bytes, keep) = (totals.versions, totals.bytes, memory.holding.text)
        }
    }

    struct Failure: Encodable {
        var id: FileID
        var path: String?
        var code: String?
        var reason: String?
    }

    /// Changes that wait for the server, rows of other devices that wait for what they need, and changes that the
    /// server has refused.
    struct Sync: Encodable {
        var pending: Int
        var parked: Int
        var rejected: Int

        init(_ report: SyncReport) {
            (pending, parked, rejected) = (report.pending, report.parked, report.rejected)
        }
    }

    /// The condition that is not met, and since when (ISO 8601).
    struct Hold: Encodable {
        var reason: String
        var since: String

        init(_ hold: UploadHold) { (reason, since) = (hold.reason, hold.since.formatted(.iso8601)) }
    }

    /// Why all uploads wait, and since when (ISO 8601).
    struct Outage: Encodable {
        var code: String
        var reason: String
        var since: String

        init(_ outage: StorageOutage) {
            (code, reason) = (outage.code.rawValue, outage.reason)
            since = outage.since.formatted(.iso8601)
        }
    }

    init(_ state: StatusState) {
        let status = state.status
        (files, documents, local, remote) = (status.files, state.documents, status.local, status.remote)
        (failed, pendingBytes, storage) = (status.failed, status.pendingBytes, state.storage)
        changedAt = state.changedAt?.formatted(.iso8601)
        (outage, hold) = (status.outage.map(Outage.init), status.hold.map(Hold.init))
        failingSince = status.failingSince?.formatted(.iso8601)
        (sync, versions) = (state.sync.map(Sync.init), state.old.flatMap { Versions($0.totals, $0.memory) })
        savedAt = state.savedAt?.formatted(.iso8601)
        waitingDeletions = state.waitingDeletions
        heldDeletions = state.heldDeletions > 0 ? state.heldDeletions : nil
        retrying = state.retrying
        failures = state.failures.map { failure in
            Failure(
                id: failure.upload.fileID, path: failure.path?.exact, code: failure.upload.code?.rawValue,
                reason: failure.upload.reason)
        }
    }
}
