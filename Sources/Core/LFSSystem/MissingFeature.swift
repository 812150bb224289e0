import Logging
import Synchronization

/// A file system feature that LFS can work without.
enum MissingFeature: Hashable, Sendable {
    /// Permission bits. exFAT, NTFS and shares of other systems have none.
    case modes
    /// Synchronizing a folder. Some network shares cannot do it.
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

    /// Returns true if a warning about this file system was logged.
    func isKnown(on device: UInt64) -> Bool {
        Self.logged.withLock { $0.contains(Place(feature: self, device: device)) }
    }

    private var consequence: String {
        switch self {
        case .modes:
            """
            The file system does not store permissions. The options of its mount decide who may read and change the \
            files.
            """
        case .folderSync:
            """
            The file system cannot sync a folder. The names of new files may be lost if the machine loses power.
            """
        }
    }
}
