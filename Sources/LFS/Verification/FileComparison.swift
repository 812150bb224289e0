import LFSDatabase
import LFSStorage
import LFSSystem

/// One file on all three sides, seen at one moment: its row was the same before and after.
struct FileComparison: Sendable {
    enum LocalFile: Sendable {
        case absent
        case present(FileStatus, sha256: String?)
        /// Nobody can have its bytes now, which says nothing of them.
        case unreadable(FileStatus, SystemError)

        /// Nil when nothing is there.
        var status: FileStatus? {
            switch self {
            case .absent: nil
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

    /// What a content is worth compared with the row.
    enum Content { case unknown, missing, good, wrongLength, corrupted }

    let row: RowState
    /// Whether this database made the file.
    let isOurs: Bool
    let localFile: LocalFile
    let object: Object
    /// Persistence locations that cannot be looked into now, such as an unmounted disk.
    let closedPlaces: [String]

    var file: FileRow { row.file }

    /// Whether a storage takes its key. Only another program can have written a row of which none does.
    var hasUsableKey: Bool { ObjectKey.usable(file.key) != nil }

    /// The storage itself says that the object has the recorded bytes.
    var isProvenRemote: Bool {
        guard case .present(let object) = object, !row.isSuspect else { return false }
        return object.byteCount == file.byteCount && object.sha256 == file.sha256
    }

    /// A loss that was noted stays one until right bytes are proven somewhere: an object that tells no checksum may be
    /// the one that a download has found to be another.
    var isKnownLoss: Bool { (row.isNotedAsLost || row.isSuspect) && local != .good && !isProvenRemote }

    /// What the local bytes are worth; unknown where they cannot be read.
    var local: Content {
        switch localFile {
        case .absent: .missing
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
