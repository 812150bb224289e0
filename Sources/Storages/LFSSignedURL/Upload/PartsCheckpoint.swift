import LFSHTTPStorage
import LFSStorage
import LFSWire

/// The state that the next attempt needs to resume a multipart upload.
///
/// It is not secret. The upload token is useless without the user's own token, which is not in the checkpoint. URLs are
/// requested again for each attempt.
struct PartsCheckpoint: Codable, Hashable, Sendable {
    /// The server's token for the upload. nil after it was aborted, so the next attempt starts over.
    var upload: String?
    var partSize: Int64
    /// The size of the content. Other content needs another upload.
    var byteCount: Int64
    var sha256: String

    private enum CodingKeys: String, CodingKey {
        case upload, sha256
        case partSize = "part_size"
        case byteCount = "size"
    }

    init(upload: String?, partSize: Int64, _ source: UploadSource) {
        self.upload = upload
        self.partSize = partSize
        byteCount = source.byteCount
        sha256 = source.sha256
    }

    /// Returns nil for a checkpoint of another version or another storage.
    init?(_ checkpoint: UploadCheckpoint) {
        guard let value: Self = checkpoint.decoded(), value.upload.map(WireFormat.isToken) != false, value.partSize > 0
        else { return nil }
        self = value
    }

    func isOf(_ source: UploadSource) -> Bool { sha256 == source.sha256 && byteCount == source.byteCount }

    func encoded() throws -> UploadCheckpoint { try UploadCheckpoint(encoding: self) }
}
