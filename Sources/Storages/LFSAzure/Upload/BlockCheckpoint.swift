import LFSHTTPStorage
import LFSStorage

/// A record that an upload in blocks was started, so that a deletion also drops its blocks. The service lists the
/// blocks for a later attempt, which needs the record only if it must not use them.
struct BlockCheckpoint: Codable, Hashable, Sendable {
    /// The SHA-256 of the content.
    var sha256: String
    var partSize: Int64
    /// True if the service has reported the checksum of other bytes for a block. nil in older checkpoints.
    var distrustsBlocks: Bool?

    init(_ source: UploadSource, partSize: Int64) {
        sha256 = source.sha256
        self.partSize = partSize
    }

    /// Returns nil for a checkpoint of another version or another storage.
    init?(_ checkpoint: UploadCheckpoint) {
        guard let value: Self = checkpoint.decoded() else { return nil }
        self = value
    }

    func encoded() throws -> UploadCheckpoint { try UploadCheckpoint(encoding: self) }
}
