import LFSHTTPStorage
import LFSStorage

/// What the next try needs to go on with an upload in parts. It holds no secret: without credentials an upload id opens
/// nothing.
struct MultipartCheckpoint: Codable, Hashable, Sendable {
    /// A part that the server has taken.
    struct Part: Codable, Hashable, Sendable {
        var entityTag: String
        /// Of the part's bytes, in hex. Each of these is nil where nobody needs it.
        var sha256: String?
        var md5: String?
        /// CRC-64/NVME.
        var crc64: String?

        init(_ entityTag: EntityTag, _ digest: PayloadDigest) {
            self.entityTag = entityTag.text
            sha256 = digest.sha256
            md5 = digest.md5
            crc64 = digest.crc64
        }

        /// Whether it was noted for the same bytes.
        func has(_ digest: PayloadDigest) -> Bool {
            (sha256 != nil || crc64 != nil) && sha256 == digest.sha256 && crc64 == digest.crc64
        }
    }

    /// nil after an upload was given up: the next try begins anew.
    var uploadID: String?
    /// What is uploaded; another content needs another upload.
    var sha256: String
    var byteCount: Int64
    var partSize: Int64
    /// How it was begun.
    var checksum: MultipartChecksum
    var parts: [Int: Part] = [:]
    /// How many tries in a row could not read the server's list of the parts; nil for none.
    var unreadableLists: Int?

    /// nil for a checkpoint that another version or another storage has left.
    init?(_ checkpoint: UploadCheckpoint) {
        guard let value: Self = checkpoint.decoded() else { return nil }
        self = value
    }

    init(uploadID: String?, source: UploadSource, partSize: Int64, _ checksum: MultipartChecksum) {
        self.init(
            uploadID: uploadID, byteCount: source.byteCount, sha256: source.sha256, partSize: partSize, checksum)
    }

    init(uploadID: String?, byteCount: Int64, sha256: String, partSize: Int64, _ checksum: MultipartChecksum) {
        self.uploadID = uploadID
        self.sha256 = sha256
        self.byteCount = byteCount
        self.partSize = partSize
        self.checksum = checksum
    }

    func encoded() throws -> UploadCheckpoint { try UploadCheckpoint(encoding: self) }
}
