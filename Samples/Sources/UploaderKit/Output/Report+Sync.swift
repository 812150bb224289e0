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
            let rows = Format.count(report.parked, "row")
            message("\(rows) of other devices cannot be applied here yet. The next sync tries again.")
        }
        if report.rejected > 0 {
            let changes = Format.count(report.rejected, "change")
            message("The server has refused \(changes) of this device: the table lfs_sync_rejection says why.")
        }
    }

    /// The rows wait for the next sync.
    func syncFailed(_ error: any Error) {
        refused(1)
        message("not synced: \(Words.of(error)) What waits goes with the next 'uploader sync'.")
    }
}
