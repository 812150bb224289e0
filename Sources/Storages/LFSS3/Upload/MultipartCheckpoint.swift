import LFSHTTPStorage
import LFSStorage

/// The state that the next attempt needs to resume a multipart upload. It is not secret, because an upload ID is
/// useless without credentials.
struct MultipartCheckpoint: Codable, Hashable, Sendable {
    /// A part that the server has accepted.
    struct Part: Codable, Hashable, Sendable {
        var entityTag: String
        /// The SHA-256 of the part's bytes in hex. Each digest is nil if it is not needed.
        var sha256: String?
        var md5: String?
        /// CRC-64/NVME.
        var crc64: String?

        init(_ entityTag: EntityTag, digest: PayloadDigest) {
            self.entityTag = entityTag.text
            sha256 = digest.sha256
            md5 = digest.md5
            crc64 = digest.crc64
        }

        /// Returns true if the part was recorded for the same bytes.
        func has(_ digest: PayloadDigest) -> Bool {
            (sha256 != nil || crc64 != nil) && sha256 == digest.sha256 && crc64 == digest.crc64
        }
    }

    /// nil after an upload was aborted. The next attempt starts over.
    var uploadID: String?
    /// The SHA-256 of the content. Other content needs another upload.
    var sha256: String
    var byteCount: Int64
    var partSize: Int64
    /// The kind of checksum that the upload was started with.
    var checksum: MultipartChecksum
    var parts: [Int: Part] = [:]
    /// The number of consecutive attempts that could not read the server's list of parts. nil for none.
    var unreadableLists: Int?

    /// Returns nil for a checkpoint of another version or another storage.
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
