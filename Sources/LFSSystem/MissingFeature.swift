import Logging
import Synchronization

/// A feature that some file systems do not have and that LFS works without.
enum MissingFeature: Hashable, Sendable {
    /// Permission bits of files, as on exFAT, NTFS and shares of other systems.
    case modes
    /// The sync of a folder, as on some network shares.
    case folderSync

    private struct Place: Hashable {
        let feature: MissingFeature
        let device: UInt64
    }

    private static let logged = Mutex<Set<Place>>([])

    /// Logs a warning, once per file system in this process.
    func log(_ error: SystemError, device: UInt64, to logger: Logger = .current) {
        let isNew = Self.logged.withLock { $0.insert(Place(feature: self, device: device)).inserted }
        if isNew { logger.warning("\(consequence)", metadata: ["error": "\(error)"]) }
    }

    /// Whether a warning about this file system was logged.
    func isKnown(on device: UInt64) -> Bool {
        Self.logged.withLock { $0.contains(Place(feature: self, device: device)) }
    }

    private var consequence: String {
        switch self {
        case .modes:
            """
            The file system keeps no permissions. The options of its mount decide who may read and change the files.
            """
        case .folderSync:
            """
            The file system cannot sync a folder. The names of new files may be lost if the machine loses power.
            """
        }
    }
}
