/// The counts of a verification.
public struct VerifyReport: Hashable, Sendable {
    /// The number of checked rows of `lfs_file`.
    public internal(set) var files = 0
    /// The number of checked local files.
    public internal(set) var localFiles = 0
    /// The number of bytes read from local files.
    public internal(set) var bytesRead: Int64 = 0
    /// The number of bytes read from objects.
    public internal(set) var objectBytesRead: Int64 = 0
    /// The number of listed objects of files. Copies of the database and settings are not counted.
    public internal(set) var objects = 0
    /// The number of findings of each kind, including known ones.
    public internal(set) var findings: [VerifyFinding.Kind: Int] = [:]
    /// The number of findings that were repaired, or whose upload or deletion is queued.
    public internal(set) var repaired = 0
    /// The number of losses and quarantined files that an earlier repair has recorded.
    public internal(set) var known = 0
    /// The number of findings on which someone still has to act.
    public internal(set) var left = 0
    /// The total size in bytes of the files without correct bytes anywhere.
    public internal(set) var lostBytes: Int64 = 0

    /// True if no finding is left.
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

/// The progress of a verification.
public struct VerifyProgress: Hashable, Sendable {
    /// A stage of the verification.
    public enum Stage: String, Hashable, Sendable {
        /// Rows and local files are compared.
        case files
        /// Rows and objects are compared. With ``VerifyOptions/readsRemote`` the objects are read first.
        case objects
        /// Orphans and failed deletions are searched.
        case orphans
    }

    /// The current stage.
    public internal(set) var stage = Stage.files
    /// The number of all rows, counted at the beginning.
    public internal(set) var totalFiles = 0
    /// The results so far.
    public internal(set) var report = VerifyReport()
}
