import LFSSync
import Synchronization

/// The result of a sync, as a line of `--json`.
private struct SyncEvent: Encodable {
    var event = "synced"
    var sent: Int
    var received: Int
    var pending: Int
    var parked: Int
    var rejected: Int
    /// The columns (`table.column`) and tables that the server lacks. nil if it lacks none.
    var lacking: [String]?
    /// The exceeded limits of the account. nil if no change waits for room.
    var exceeded: [ExceededLimit]?
}

/// The result of a comparison with the server, as a line of `--json`.
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
    /// The changes of this device that the server does not have yet.
    var pending: Int
    var differences: [Difference]
}

extension Report {
    /// Shows the progress of a row exchange. Nil after its end.
    func syncing(_ rows: Tally.Rows?) {
        worked()
        changeTally { $0.rows = rows }
    }

    /// - Parameter pending: the number of changes that the server does not have yet.
    func compared(_ found: SyncVerification, pending: Int) {
        advance.note()
        let event = VerificationEvent(
            compared: found.compared, pending: pending,
            differences: found.differences.map {
                .init(type: $0.type, scope: $0.scope, here: $0.here, there: $0.there, isMended: $0.isMended)
            })
        let kinds = Format.count(found.compared, noun: "kind") + " of rows"
        let exception =
            pending > 0 ? ", except for \(Format.count(pending, noun: "pending change")) of this device" : ""
        let result = found.differences.isEmpty ? "the same\(exception)" : "different"
        tell(event, words: "compared \(kinds) with the server: \(result)")
        for difference in found.differences {
            let shared = difference.scope.map { " of \($0)" } ?? ""
            let end = difference.isMended ? "they are now the same." : "they still differ: sync again."
            let counts = "\(difference.here) on this device, \(difference.there) on the server"
            message("\(difference.type)\(shared): \(counts); \(end)")
            if !difference.isMended { refused(1) }
        }
    }

    func synced(_ report: SyncReport) {
        let isNewLimit = noteExceeded(report.exceeded)
        // A later sync without changes is not reported.
        guard !noteSynced() || isNewLimit || report.sent + report.received > 0 else { return }
        let event = SyncEvent(
            sent: report.sent, received: report.received, pending: report.pending, parked: report.parked,
            rejected: report.rejected, lacking: report.lacking.isEmpty ? nil : report.lacking,
            exceeded: ExceededLimit.all(report))
        tell(event, words: "synced: \(Format.count(report.sent)) sent, \(Format.count(report.received)) received")
        if report.parked > 0 {
            let rows = Format.count(report.parked, noun: "row")
            message("\(rows) of other devices cannot be applied yet. The next sync tries again.")
        }
        if report.rejected > 0 {
            let changes = Format.count(report.rejected, noun: "change")
            message("The server has refused \(changes) of this device: the table lfs_sync_rejection has the reasons.")
        }
        for sentence in LackingWords.sentences(report.lacking) { message(sentence) }
        if isNewLimit, let sentence = QuotaWords.sentence(report) { message("not synced: \(sentence)") }
    }

    /// Records the limits of the account that changes exceed after a sync. The last sync of a run determines its exit
    /// status.
    ///
    /// - Returns: true if there are limits, and the previous sync had others.
    private func noteExceeded(_ limits: [SyncQuotaError]) -> Bool {
        state.withLock { state in
            // A pull restores its files even if the account is full.
            state.tally.exceedsQuota = !limits.isEmpty && purpose != .pulling
            defer { state.exceeded = limits }
            return !limits.isEmpty && limits != state.exceeded
        }
    }

    /// Reports a file that other devices do not receive, because its name is not valid text.
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

    /// Reports a failed sync. The rows wait for the next one.
    func syncFailed(_ error: any Error) {
        changeTally { $0.failedSyncs += 1 }
        message("not synced: \(ErrorMessages.of(error)) The next 'uploader sync' sends the pending changes.")
    }
}
