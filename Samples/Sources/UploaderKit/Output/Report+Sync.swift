import LFSSync

/// What sync has come to, as a line of `--json`.
private struct SyncEvent: Encodable {
    var event = "synced"
    var sent: Int
    var received: Int
    var pending: Int
    var parked: Int
    var rejected: Int
}

extension Report {
    /// - Parameter isLast: whether nothing more is tried in this run.
    func synced(_ report: SyncReport) {
        advance.note()
        let event = SyncEvent(
            sent: report.sent, received: report.received, pending: report.pending, parked: report.parked,
            rejected: report.rejected)
        tell(event, "synced: \(report.sent) sent, \(report.received) received")
        if report.parked > 0 {
            message(
                "\(Format.count(report.parked, "row")) of other devices cannot be applied here yet: tried again with the next sync."
            )
        }
        if report.rejected > 0 {
            message(
                "\(Format.count(report.rejected, "change")) of this device was refused by the server: see the table lfs_sync_rejection."
            )
        }
    }

    /// The rows wait for the next sync.
    func syncFailed(_ error: any Error) {
        refused(1)
        message("not synced: \(Words.of(error)) What waits goes with the next 'uploader sync'.")
    }
}
