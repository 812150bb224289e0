import LFSHTTPStorage
import LFSStorage
import LFSSystem

/// The file beside an object's place that an upload writes to. A later try, or a deletion, removes it.
///
/// It is noted for large files only: to note it costs a commit, and the few bytes of a small one that a killed process
/// has left are found by their age.
struct UnfinishedFile: Codable, Hashable, Sendable {
    /// Files from this size on are noted.
    static let notedByteCount: Int64 = 1 << 20

    /// What makes the name one of its own.
    var token: String

    init() {
        token = String(UInt64.random(in: .min ... .max), radix: 36)
    }

    /// nil for a checkpoint that is none of ours.
    init?(_ checkpoint: UploadCheckpoint) {
        guard let value: Self = checkpoint.decoded(),
            (1...32).contains(value.token.utf8.count),
            value.token.utf8.allSatisfy({ $0.isLetter || $0.isDigit })
        else { return nil }
        self = value
    }

    func encoded() throws -> UploadCheckpoint { try UploadCheckpoint(encoding: self) }
}
