import Foundation
import LFS
import LFSStorage
import LFSSync

/// The object of `status --json`.
struct StatusFigures: Encodable {
    var files: Int
    /// The number of entries in `list`. Several may share a file. nil for the database of another app.
    var documents: Int?
    var local: Int
    var remote: Int
    var failed: Int
    var pendingBytes: Int64
    /// The storage of the files. nil if no file is on a storage yet.
    var storage: String?
    /// The time of the change to this storage, if it has not been verified since (ISO 8601).
    var changedAt: String?
    var outage: Outage?
    /// The time of the first failure since the last successful upload (ISO 8601). nil if the last one succeeded.
    var failingSince: String?
    /// The condition for which uploads are held.
    var hold: Hold?
    /// nil if the files are not shared with other devices.
    var sync: Sync?
    /// The time when the last copy of the database was stored on it (ISO 8601).
    var savedAt: String?
    /// nil until the user chooses a setting or an old version exists.
    var versions: Versions?
    /// Removed files whose bytes are still on the storage.
    var waitingDeletions: Int
    /// Files whose bytes stay until the sync server has accepted the removal. nil for zero files.
    var heldDeletions: Int?
    /// Files of other devices that those devices have not uploaded yet.
    var ofOthers: Int
    /// Files of this device that are not on the storage and have no upload.
    var withoutUpload: Int
    /// The reasons why attempted uploads are pending, the most frequent first.
    var retrying: [UploadReason]
    /// The first thousand uploads that were given up.
    var failures: [Failure]

    /// The old versions and their size.
    struct Versions: Encodable {
        var count: Int
        var bytes: Int64
        /// The setting in the syntax of `--keep-versions`.
        var keep: String

        init?(_ totals: VersionTable.Removed, memory: VersionMemory) {
            guard memory.choice != nil || totals.versions > 0 else { return nil }
            count = totals.versions
            bytes = totals.bytes
            keep = memory.holding.text
        }
    }

    struct Failure: Encodable {
        var id: FileID
        var path: String?
        var code: String?
        var reason: String?
    }

    /// Changes that are not sent to the server yet, rows of other devices that wait for other rows, and changes that
    /// the server has refused.
    struct Sync: Encodable {
        var pending: Int
        var parked: Int
        var rejected: Int
        /// The columns and tables that the server lacks for waiting changes. nil if it lacks none.
        var lacking: [String]?
        /// The exceeded limits of the account. nil if no change waits for room.
        var exceeded: [ExceededLimit]?

        init(_ report: SyncReport) {
            pending = report.pending
            parked = report.parked
            rejected = report.rejected
            lacking = report.lacking.isEmpty ? nil : report.lacking
            exceeded = ExceededLimit.all(report)
        }
    }

    /// The condition that is not met, and its start time (ISO 8601).
    struct Hold: Encodable {
        var reason: String
        var since: String

        init(_ hold: UploadHold) { (reason, since) = (hold.reason, hold.since.formatted(.iso8601)) }
    }

    /// The reason why all uploads are pending, and its start time (ISO 8601).
    struct Outage: Encodable {
        var code: String
        var reason: String
        var since: String

        init(_ outage: StorageOutage) {
            code = outage.code.rawValue
            reason = outage.reason
            since = outage.since.formatted(.iso8601)
        }
    }

    init(_ state: StatusState) {
        let status = state.status
        files = status.files
        documents = state.documents
        local = status.local
        remote = status.remote
        failed = status.failed
        pendingBytes = status.pendingBytes
        storage = state.storage
        changedAt = state.changedAt?.formatted(.iso8601)
        outage = status.outage.map(Outage.init)
        hold = status.hold.map(Hold.init)
        failingSince = status.failingSince?.formatted(.iso8601)
        sync = state.sync.map(Sync.init)
        versions = state.old.flatMap { Versions($0.totals, memory: $0.memory) }
        savedAt = state.savedAt?.formatted(.iso8601)
        waitingDeletions = state.waitingDeletions
        heldDeletions = state.heldDeletions > 0 ? state.heldDeletions : nil
        ofOthers = state.unqueued.ofOthers
        withoutUpload = state.unqueued.own
        retrying = state.retrying
        failures = state.failures.map { failure in
            Failure(
                id: failure.upload.fileID, path: failure.path?.exact, code: failure.upload.code?.rawValue,
                reason: failure.upload.reason)
        }
    }
}
