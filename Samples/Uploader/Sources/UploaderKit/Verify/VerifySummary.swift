import Foundation
import LFS

/// A line of `verify --json`. Fields may be added. Readers must ignore unknown fields.
struct FindingEvent: Encodable {
    private var event = "finding"
    private var kind: VerifyFinding.Kind
    private var id: String
    private var key: String
    private var path: String?
    private var recorded: VerifyFinding.Content?
    private var found: VerifyFinding.Content?
    private var repair: VerifyFinding.Repair?
    private var outcome: String
    private var reason: String
    private var isLoss: Bool
    private var isKnown: Bool

    init(_ finding: VerifyFinding, path: FilePath?) {
        kind = finding.kind
        id = finding.fileID?.uuidString ?? ""
        key = finding.key
        self.path = path?.exact
        recorded = finding.recorded
        found = finding.found
        repair = finding.repair
        reason = finding.message
        isLoss = finding.isLoss
        isKnown = finding.isKnown
        switch finding.outcome {
        case .found: outcome = "found"
        case .repaired: outcome = "repaired"
        case .underWay: outcome = "underWay"
        case .noted: outcome = "noted"
        case .failed(let reason): (outcome, self.reason) = ("failed", reason)
        }
    }
}

/// The last line of `verify --json`.
struct VerifySummary: Encodable {
    private var event = "summary"
    private var files: Int
    private var localFiles: Int
    private var objects: Int
    private var bytesRead: Int64
    private var findings: Int
    private var repaired: Int
    private var known: Int
    private var lostBytes: Int64
    /// Objects that were read back, and their bytes.
    private var objectsRead: Int?
    private var objectBytesRead: Int64
    /// Objects that the storage did not deliver.
    private var unread: Int?
    /// Objects that were never read back, and the time of the oldest read (ISO 8601).
    private var neverRead: Int?
    private var oldestReading: String?
    private var failedUploads: Int
    private var pendingDeletions: Int
    /// Removed files whose bytes are still on the storage, including refused deletions.
    private var waitingDeletions: Int
    private var seconds: Double
    /// The number of problems that need an action.
    let left: Int

    init(
        _ report: VerifyReport, read: ObjectReader.Progress?, failedUploads: Int, pendingDeletions: Int,
        waitingDeletions: Int, since start: ContinuousClock.Instant
    ) {
        files = report.files
        localFiles = report.localFiles
        objects = report.objects
        bytesRead = report.bytesRead
        lostBytes = report.lostBytes
        findings = report.findings.values.reduce(0, +)
        repaired = report.repaired
        known = report.known
        self.failedUploads = failedUploads
        self.pendingDeletions = pendingDeletions
        self.waitingDeletions = waitingDeletions
        objectBytesRead = report.objectBytesRead.addingSaturated(read?.bytes ?? 0)
        objectsRead = read?.objects
        unread = read?.unread
        neverRead = read?.neverRead
        oldestReading = read?.oldest?.formatted(.iso8601)
        left = report.left + failedUploads + pendingDeletions + (read?.unread ?? 0)
        seconds = ((ContinuousClock.now - start) / .milliseconds(1)).rounded() / 1_000
    }

    /// - Parameter mayHaveOriginals: true if the originals were not examined yet.
    func words(mayHaveOriginals: Bool) -> String {
        var parts = [
            Format.count(files, noun: "file"), Format.count(localFiles, noun: "local copy", plural: "local copies"),
            Format.count(objects, noun: "object"),
            findings == 0 ? "nothing found" : Format.count(findings, noun: "finding"),
        ]
        if repaired > 0 { parts.append("\(Format.count(repaired)) repaired") }
        if known > 0 { parts.append("\(Format.count(known)) known") }
        if failedUploads > 0 { parts.append("\(Format.count(failedUploads, noun: "upload")) failed") }
        if pendingDeletions > 0 { parts.append("\(Format.count(pendingDeletions, noun: "deletion")) refused") }
        let waiting = waitingDeletions - pendingDeletions
        if waiting > 0 { parts.append("\(Format.count(waiting, noun: "deletion")) waiting for 'resume'") }
        if left > 0 { parts.append("\(Format.count(left)) left") }
        if lostBytes > 0 {
            let hope = mayHaveOriginals ? " unless their originals exist" : ""
            parts.append("\(Format.bytes(lostBytes)) lost\(hope)")
        }
        if bytesRead > 0 { parts.append("\(Format.bytes(bytesRead)) read locally") }
        if let objectsRead {
            parts.append("\(Format.count(objectsRead, noun: "object")) read back (\(Format.bytes(objectBytesRead)))")
            if let neverRead, neverRead > 0 { parts.append("\(Format.count(neverRead)) never read back") }
        } else if objectBytesRead > 0 {
            parts.append("\(Format.bytes(objectBytesRead)) read back")
        }
        if let unread, unread > 0 { parts.append("\(Format.count(unread)) could not be read") }
        return parts.joined(separator: ", ") + ", in \(Format.seconds(seconds)) s"
    }
}
