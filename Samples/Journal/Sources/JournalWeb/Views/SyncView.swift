import Foundation
import LFSSync

/// How the journal stands to the account's other devices.
struct SyncView: Sendable {
    struct Line: Sendable {
        let what: String
        let reason: String
    }

    let server: String
    let whole: String
    let waiting: String
    let refused: Int
    let parked: Int
    let lines: [Line]
    /// Why nothing goes or comes now, and what to do; nil when all is well.
    let trouble: String?

    init(_ sync: DeviceSync, _ report: SyncReport, _ problems: [SyncProblem], _ times: LocalTime) {
        let state = sync.state
        server = sync.serverName
        whole =
            state.wholeAt.map { "\(times.day($0)) \(times.clock($0))" } ?? "not yet since the journal was started"
        waiting = Words.count(report.pending, "change", "changes")
        (refused, parked) = (report.rejected, report.parked)
        lines = problems.map { problem in
            let name = Self.names[problem.table] ?? "A file"
            return Line(
                what: problem.kind == .refused ? "\(name), refused" : "\(name), waiting to be shown",
                reason: problem.reason)
        }
        let trouble = Self.trouble(state)
        self.trouble = trouble.isEmpty ? nil : trouble
    }

    /// What every page says of it; empty when all is well.
    static func trouble(_ state: DeviceSync.State) -> String {
        switch state.trouble {
        case nil: ""
        case .away(let reason):
            "Other devices do not hear of changes now, and are told later. \(reason)"
        case .signedOut:
            """
            The sync server does not take this device's token any more. Make a new one there with 'lfs-server session \
            add' and put it into the file of --sync-token-file; one from LFS_SYNC_TOKEN takes a restart of the journal.
            """
        case .stopped(let reason): "The journal is not shared with other devices now. \(reason)"
        }
    }

    private static let names = [
        "tag": "A tag", "record": "A record", "record_tag": "The tag of a record", "picture": "A picture",
        "asset": "A picture of albums", "album": "An album", "album_asset": "The picture of an album",
        "album_member": "Whom an album is shared with",
    ]
}
