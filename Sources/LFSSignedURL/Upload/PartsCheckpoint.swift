import LFSHTTPStorage
import LFSStorage
import LFSWire

/// What the next try needs to go on with an upload in parts. It holds no secret: without the user's own token, which
/// stands nowhere here, the upload's opens nothing. URLs are asked for anew each time.
struct PartsCheckpoint: Codable, Hashable, Sendable {
    /// The server's token; nil after an upload was given up: the next try begins anew.
    var upload: String?
    var partSize: Int64
    /// What is uploaded; another content needs another upload.
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

    /// nil for a checkpoint that another version or another storage has left.
    init?(_ checkpoint: UploadCheckpoint) {
        guard let value: Self = checkpoint.decoded(), value.upload.map(WireFormat.isToken) != false, value.partSize > 0
        else { return nil }
        self = value
    }

    func isOf(_ source: UploadSource) -> Bool { sha256 == source.sha256 && byteCount == source.byteCount }

    func encoded() throws -> UploadCheckpoint { try UploadCheckpoint(encoding: self) }
}
