import LFSSync

/// The message about an account without room for the changes of this device.
enum QuotaWords {
    /// Returns the limits and what to do, or nil if no change waits for room.
    static func sentence(_ report: SyncReport) -> String? {
        if report.exceeded.isEmpty { return nil }
        let limits = report.exceeded.map(words).joined(separator: " and ")
        let wait = report.pending == 1 ? "1 change waits" : "\(Format.count(report.pending)) changes wait"
        return """
            the account may have at most \(limits). \(wait) until files are removed, or the operator changes the limit \
            with 'lfs-server account quota'.
            """
    }

    private static func words(_ error: SyncQuotaError) -> String {
        switch error.limit {
        case .rows: Format.count(Int(clamping: error.value), noun: "row")
        case .rowBytes: "\(error.value) bytes of rows"
        case .fileBytes: "\(error.value) bytes of files"
        case .other(let name): "\(error.value) of '\(Printable.text(name))'"
        }
    }
}

/// A limit of the account that keeps changes on this device, in a line of `--json`.
struct ExceededLimit: Encodable {
    let limit: String
    let value: Int64

    private init(_ error: SyncQuotaError) {
        limit =
            switch error.limit {
            case .rows: "rows"
            case .rowBytes: "rowBytes"
            case .fileBytes: "fileBytes"
            case .other(let name): name
            }
        value = error.value
    }

    /// Returns the limits of a report, or nil if no change waits for room.
    static func all(_ report: SyncReport) -> [ExceededLimit]? {
        report.exceeded.isEmpty ? nil : report.exceeded.map(ExceededLimit.init)
    }
}
