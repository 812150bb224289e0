import LFSDatabase
import LFSStorage
import LFSSystem

/// The three sides of one file at one moment. The row was the same before and after.
struct FileComparison: Sendable {
    enum LocalFile: Sendable {
        case absent
        case present(FileStatus, sha256: String?)
        /// An original outside the store has the recorded bytes.
        case original
        /// The bytes cannot be read now. Their content is unknown.
        case unreadable(FileStatus, SystemError)

        /// Nil when no file exists.
        var status: FileStatus? {
            switch self {
            case .absent, .original: nil
            case .present(let status, _), .unreadable(let status, _): status
            }
        }

        var sha256: String? {
            if case .present(_, let sha256) = self { sha256 } else { nil }
        }
    }

    enum Object: Sendable {
        case notAsked
        case absent
        case present(RemoteObject)
    }

    /// The result of comparing bytes with the row.
    enum Content { case unknown, missing, good, wrongLength, corrupted }

    let row: RowState
    /// True if this database made the file.
    let isOurs: Bool
    let localFile: LocalFile
    let object: Object
    /// The persistence locations that cannot be searched now, such as an unmounted disk.
    let closedPlaces: [String]

    var file: FileRow { row.file }

    /// True if a storage accepts the key. Only another program can have written a row whose key no storage accepts.
    var hasUsableKey: Bool { ObjectKey.usable(file.key) != nil }

    /// True if the storage itself confirms that the object has the recorded bytes.
    var isProvenRemote: Bool {
        guard case .present(let object) = object, !row.isSuspect else { return false }
        return object.byteCount == file.byteCount && object.sha256 == file.sha256
    }

    /// True for a recorded loss until correct bytes are proven. An object without a checksum may be the one that a
    /// download has found to be wrong.
    var isKnownLoss: Bool { (row.isNotedAsLost || row.isSuspect) && local != .good && !isProvenRemote }

    /// The result for the local bytes. Unknown when they cannot be read.
    var local: Content {
        switch localFile {
        case .absent: .missing
        case .original: .good
        case .present(let status, _) where status.byteCount != file.byteCount && status.isRegularFile: .wrongLength
        case .present(_, let sha256): sha256 == file.sha256 ? .good : .corrupted
        case .unreadable(let status, _): status.byteCount == file.byteCount ? .unknown : .wrongLength
        }
    }

    var remote: Content {
        switch object {
        case .notAsked: .unknown
        case .absent: .missing
        case .present(let object) where object.byteCount != file.byteCount: .wrongLength
        case .present(let object): object.sha256 == nil || object.sha256 == file.sha256 ? .good : .corrupted
        }
    }
}
