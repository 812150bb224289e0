import LFSHTTP
import LFSHTTPStorage
import LFSStorage

/// The kind of checksum that verifies the parts of an upload and the final object.
///
/// Source: "Checking object integrity for data uploads in Amazon S3" in the Amazon S3 user guide.
enum MultipartChecksum: String, Codable, Hashable, Sendable {
    /// `x-amz-checksum-sha256` for each part. The object's checksum is the SHA-256 of the parts' checksums.
    case sha256
    /// `x-amz-checksum-crc64nvme` for each part. The object's checksum is the CRC of all its bytes, known in advance.
    case crc64NVME
    /// `Content-MD5` or no checksum for each part.
    case none

    /// Selects the kind for a server, a connection and a source.
    ///
    /// The CRC-64 is nearly free, but a part over plain HTTP must be signed with its SHA-256. Over TLS, the
    /// signature may leave the body out, because the connection protects the bytes.
    init(_ provider: S3Provider, isSecure: Bool, source: UploadSource) {
        self =
            if provider.checksumHeader != .sha256 {
                .none
            } else if provider.fullObjectCRC64, isSecure, source.crc64 != nil {
                .crc64NVME
            } else {
                .sha256
            }
    }

    /// Returns the digests to compute of each part.
    ///
    /// - Parameter provider: the server. If it keeps no checksums, only a tag of the parts' MD5s can confirm the whole
    ///   object.
    func kinds(_ provider: S3Provider) -> PayloadDigest.Kinds {
        let withMD5: PayloadDigest.Kinds = self != .none && provider.keepsChecksums ? [] : .md5
        return withMD5.union(self == .crc64NVME ? .crc64 : .sha256)
    }

    /// Adds the fields for the start of an upload.
    func announce(in fields: inout HTTPHeaders) throws(HTTPError) {
        switch self {
        case .sha256: try fields.set("x-amz-checksum-algorithm", value: "SHA256")
        case .crc64NVME:
            try fields.set("x-amz-checksum-algorithm", value: "CRC64NVME")
            try fields.set("x-amz-checksum-type", value: "FULL_OBJECT")
        case .none: break
        }
    }

    /// Adds the checksum of a part, and sets the payload hash for its signature.
    func prove(_ digest: PayloadDigest, provider: S3Provider, in request: inout S3Request) throws(HTTPError) {
        if self == .crc64NVME {
            try request.headers.set(crc64: digest.crc64)
            request.payloadHash = SignatureV4.unsignedPayload
        } else {
            try request.headers.set(provider.checksumHeader, sha256: digest.sha256, md5: digest.md5)
            if let sha256 = digest.sha256 { request.payloadHash = sha256 }
        }
    }
}

extension HTTPHeaders {
    /// Sets the CRC-64/NVME field.
    ///
    /// - Parameter crc64: the CRC-64/NVME in hex.
    mutating func set(crc64: String?) throws(HTTPError) {
        if let text = crc64.flatMap(Base64.text) { try set("x-amz-checksum-crc64nvme", value: text) }
    }

    /// Sets the checksum field of a body. Both digests are in hex.
    mutating func set(_ header: S3Provider.ChecksumHeader, sha256: String?, md5: String?) throws(HTTPError) {
        switch header {
        case .sha256: if let text = sha256.flatMap(Base64.text) { try set("x-amz-checksum-sha256", value: text) }
        case .contentMD5: if let text = md5.flatMap(Base64.text) { try set("content-md5", value: text) }
        case .none: break
        }
    }
}
