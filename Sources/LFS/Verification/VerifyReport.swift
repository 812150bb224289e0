/// What a verification has looked at and found, in numbers.
public struct VerifyReport: Hashable, Sendable {
    /// Rows of `lfs_file` that were looked at.
    public internal(set) var files = 0
    /// Local files that were looked at.
    public internal(set) var localFiles = 0
    /// Bytes of local files that were read.
    public internal(set) var bytesRead: Int64 = 0
    /// Bytes of objects that were read.
    public internal(set) var objectBytesRead: Int64 = 0
    /// Objects of files that the storage listed. Copies of the database and settings are not counted.
    public internal(set) var objects = 0
    /// How many findings there are of each kind, known ones included.
    public internal(set) var findings: [VerifyFinding.Kind: Int] = [:]
    /// Findings that were mended, or whose upload or deletion is queued.
    public internal(set) var repaired = 0
    /// Losses and quarantined files that an earlier repair has noted.
    public internal(set) var known = 0
    /// Findings about which somebody still has to do something.
    public internal(set) var left = 0
    /// The recorded bytes of the files of which no right bytes were found anywhere.
    public internal(set) var lostBytes: Int64 = 0

    /// Whether nothing is left to do.
    public var isClean: Bool { left == 0 }

    mutating func count(_ finding: VerifyFinding) {
        findings[finding.kind, default: 0] += 1
        switch finding.outcome {
        case .repaired, .underWay: repaired += 1
        case .found, .noted, .failed:
            if finding.isKnown { known += 1 } else { left += 1 }
        }
        if finding.isLoss { lostBytes += finding.recorded?.byteCount ?? 0 }
    }
}

/// How far a verification is.
public struct VerifyProgress: Hashable, Sendable {
    /// What is looked at.
    public enum Stage: String, Hashable, Sendable {
        /// Rows and local files.
        case files
        /// Rows and objects; with ``VerifyOptions/readsRemote`` first the objects' bytes.
        case objects
        /// Orphans, and what is stuck.
        case orphans
    }

    /// What is looked at now.
    public internal(set) var stage = Stage.files
    /// All rows, as they were counted at the beginning.
    public internal(set) var totalFiles = 0
    /// What was found so far.
    public internal(set) var report = VerifyReport()
}
