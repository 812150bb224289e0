import LFSHTTPStorage
import LFSStorage
import LFSSystem

/// The temporary file of an upload, next to the object's final place. A later attempt or a deletion removes it.
///
/// It is recorded only for large files, because recording costs a commit. If a process is killed, the temporary file of
/// a small one is found by its age.
struct UnfinishedFile: Codable, Hashable, Sendable {
    /// The file size in bytes from which temporary files are recorded.
    static let notedByteCount: Int64 = 1 << 20

    /// The text that makes the name unique.
    var token: String

    init() {
        token = String(UInt64.random(in: .min ... .max), radix: 36)
    }

    /// Returns nil for a checkpoint of another storage.
    init?(_ checkpoint: UploadCheckpoint) {
        guard let value: Self = checkpoint.decoded(),
            (1...32).contains(value.token.utf8.count),
            value.token.utf8.allSatisfy({ $0.isLetter || $0.isDigit })
        else { return nil }
        self = value
    }

    func encoded() throws -> UploadCheckpoint { try UploadCheckpoint(encoding: self) }
}
