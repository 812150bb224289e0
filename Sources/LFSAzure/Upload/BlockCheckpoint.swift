import LFSHTTPStorage
import LFSStorage

/// Says that an upload in blocks was begun, so that a deletion looks for what is left of it. To go on nobody needs it:
/// the service's list of blocks tells all.
struct BlockCheckpoint: Codable, Hashable, Sendable {
    /// What is uploaded.
    var sha256: String
    var partSize: Int64

    init(_ source: UploadSource, partSize: Int64) {
        sha256 = source.sha256
        self.partSize = partSize
    }

    /// nil for a checkpoint that another version or another storage has left.
    init?(_ checkpoint: UploadCheckpoint) {
        guard let value: Self = checkpoint.decoded() else { return nil }
        self = value
    }

    func encoded() throws -> UploadCheckpoint { try UploadCheckpoint(encoding: self) }
}
