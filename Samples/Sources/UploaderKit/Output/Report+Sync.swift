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

/// What a comparison with the server has come to, as a line of `--json`.
private struct VerificationEvent: Encodable {
    struct Difference: Encodable {
        var type: String
        var scope: String?
        var here: Int
        var there: Int
        var isMended: Bool
    }

    var event = "compared"
    var compared: Int
    var differences: [Difference]
}

extension Report {
    /// Rows are on their way; nil when they are there.
    func syncing(_ rows: Tally.Rows?) {
        worked()
        changeTally { $0.rows = rows }
    }

    func compared(_ found: SyncVerification) {
        advance.note()
        let event = VerificationEvent(
            compared: found.compared,
            differences: found.differences.map {
                .init(type: $0.type, scope: $0.scope, here: $0.here, there: $0.there, isMended: $0.isMended)
            })
        let kinds = Format.count(found.compared, "kind") + " of rows"
        tell(event, "compared \(kinds) with the server: \(found.differences.isEmpty ? "the same" : "different")")
        for difference in found.differences {
            let shared = difference.scope.map { " of \($0)" } ?? ""
            let end = difference.isMended ? "now they are the same." : "they are not the same yet: sync again."
            message("\(difference.type)\(shared): \(difference.here) here, \(difference.there) on the server; \(end)")
            if !difference.isMended { refused(1) }
        }
    }

    func synced(_ report: SyncReport) {
        // A second look that finds nothing is no news.
        guard !noteSynced() || report.sent + report.received > 0 else { return }
        let event = SyncEvent(
            sent: report.sent, received: report.received, pending: report.pending, parked: report.parked,
            rejected: report.rejected)
        tell(event, "synced: \(Format.count(report.sent)) sent, \(Format.count(report.received)) received")
        if report.parked > 0 {
            let rows = Format.count(report.parked, "row")
            message("\(rows) of other devices cannot be applied here yet. The next sync tries again.")
        }
        if report.rejected > 0 {
            let changes = Format.count(report.rejected, "change")
            message("The server has refused \(changes) of this device: the table lfs_sync_rejection says why.")
        }
    }

    /// Reports a file whose bytes other devices get without its name.
    func notShared(_ path: FilePath) {
        refused(1)
        var event = JSONEvent("failed")
        event.path = path.exact
        event.reason = Self.isNoText
        tell(event, verbose: nil)
        message("not synced \(path): \(Self.isNoText)")
    }

    private static let isNoText =
        "its name is not UTF-8, so other devices get its bytes under another name and without its folder; rename it"

    /// The rows wait for the next sync.
    func syncFailed(_ error: any Error) {
        refused(1)
        message("not synced: \(Words.of(error)) What waits goes with the next 'uploader sync'.")
    }
}
