import LFSSync

/// The state of the synchronization with the account's other devices.
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
    /// The reason why no rows are exchanged, with the remedy. Nil if the synchronization works.
    let trouble: String?

    init(_ sync: DeviceSync, report: SyncReport, problems: [SyncProblem], times: LocalTime) {
        let state = sync.state.value
        server = sync.serverName
        whole =
            state.wholeAt.map { "\(times.day($0)) \(times.clock($0))" } ?? "none since the journal was started"
        waiting = Words.count(report.pending, one: "change", more: "changes")
        refused = report.rejected
        parked = report.parked
        lines = problems.map { problem in
            let name = Self.names[problem.table] ?? "A file"
            return Line(
                what: problem.kind == .refused ? "\(name), refused" : "\(name), not shown yet",
                reason: problem.reason)
        }
        let trouble = Self.trouble(state)
        self.trouble = trouble.isEmpty ? nil : trouble
    }

    /// Returns the sentence that every page shows about the state. Empty if the synchronization works.
    static func trouble(_ state: DeviceSync.State) -> String {
        switch state.trouble {
        case nil: ""
        case .away(let reason):
            "Sync with other devices is interrupted, and resumes automatically. \(reason)"
        case .signedOut:
            """
            The sync server refuses this device's token. Create a new one on the server with 'lfs-server session add', \
            and write it to the file of --sync-token-file. If it comes from LFS_SYNC_TOKEN, restart the journal.
            """
        case .stopped(let reason): "The journal does not sync with other devices now. \(reason)"
        }
    }

    private static let names = [
        "tag": "A tag", "record": "A record", "record_tag": "A tag of a record", "picture": "A picture",
        "asset": "A picture for albums", "album": "An album", "album_asset": "A picture in an album",
        "album_member": "A member of an album",
        "user": "A person",
    ]
}
