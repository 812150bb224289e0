import Foundation
import LFS

/// One line of `verify --json`. Fields may be added; readers ignore those they do not know.
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

    init(_ finding: VerifyFinding, _ path: FilePath?) {
        (kind, id, key, self.path) = (finding.kind, finding.fileID?.uuidString ?? "", finding.key, path?.exact)
        (recorded, found, repair) = (finding.recorded, finding.found, finding.repair)
        (reason, isLoss, isKnown) = (finding.message, finding.isLoss, finding.isKnown)
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
    /// Objects that the storage did not give.
    private var unread: Int?
    /// Objects that were never read back, and when the one was that was read longest ago (ISO 8601).
    private var neverRead: Int?
    private var oldestReading: String?
    private var failedUploads: Int
    private var pendingDeletions: Int
    /// Files that were removed and still have bytes on the storage, refused ones among them.
    private var waitingDeletions: Int
    private var seconds: Double
    /// What somebody still has to do something about.
    let left: Int

    init(
        _ report: VerifyReport, _ read: ObjectReader.Progress?, failedUploads: Int, pendingDeletions: Int,
        waitingDeletions: Int, since start: ContinuousClock.Instant
    ) {
        (files, localFiles, objects) = (report.files, report.localFiles, report.objects)
        (bytesRead, lostBytes) = (report.bytesRead, report.lostBytes)
        findings = report.findings.values.reduce(0, +)
        (repaired, known) = (report.repaired, report.known)
        (self.failedUploads, self.pendingDeletions) = (failedUploads, pendingDeletions)
        self.waitingDeletions = waitingDeletions
        objectBytesRead = report.objectBytesRead.addingSaturated(read?.bytes ?? 0)
        (objectsRead, unread, neverRead) = (read?.objects, read?.unread, read?.neverRead)
        oldestReading = read?.oldest?.formatted(.iso8601)
        left = report.left + failedUploads + pendingDeletions + (read?.unread ?? 0)
        seconds = ((ContinuousClock.now - start) / .milliseconds(1)).rounded() / 1_000
    }

    /// - Parameter mayHaveOriginals: whether what was pushed from is still to be asked.
    func words(mayHaveOriginals: Bool) -> String {
        var parts = [
            "\(Format.count(files, "file")), \(Format.count(localFiles)) of them here, "
                + "\(Format.count(objects, "object")) there",
            findings == 0 ? "nothing found" : Format.count(findings, "finding"),
        ]
        if repaired > 0 { parts.append("\(Format.count(repaired)) repaired") }
        if known > 0 { parts.append("\(Format.count(known)) known") }
        if failedUploads > 0 { parts.append("\(Format.count(failedUploads, "upload")) failed") }
        if pendingDeletions > 0 { parts.append("\(Format.count(pendingDeletions, "deletion")) refused") }
        let waiting = waitingDeletions - pendingDeletions
        if waiting > 0 { parts.append("\(Format.count(waiting, "deletion")) waiting for 'resume'") }
        if left > 0 { parts.append("\(Format.count(left)) left") }
        if lostBytes > 0 {
            let hope = mayHaveOriginals ? " unless their originals are there" : ""
            parts.append("\(Format.bytes(lostBytes)) lost\(hope)")
        }
        if bytesRead > 0 { parts.append("\(Format.bytes(bytesRead)) read here") }
        if let objectsRead {
            parts.append("\(Format.count(objectsRead, "object")) read back (\(Format.bytes(objectBytesRead)))")
            if let neverRead, neverRead > 0 { parts.append("\(Format.count(neverRead)) never yet") }
        } else if objectBytesRead > 0 {
            parts.append("\(Format.bytes(objectBytesRead)) read back")
        }
        if let unread, unread > 0 { parts.append("\(Format.count(unread)) could not be read") }
        return parts.joined(separator: ", ") + ", in \(Format.seconds(seconds)) s"
    }
}
