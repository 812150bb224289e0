import LFSHTTP
import LFSHTTPStorage
import LFSStorage

/// How the parts of an upload prove their bytes, and how the object in the end does.
///
/// Source: "Checking object integrity for data uploads in Amazon S3" in the Amazon S3 user guide.
enum MultipartChecksum: String, Codable, Hashable, Sendable {
    /// `x-amz-checksum-sha256` with each part; that of the object is one over those of the parts.
    case sha256
    /// `x-amz-checksum-crc64nvme` with each part; that of the object is one of all its bytes, which were known before.
    case crc64NVME
    /// `Content-MD5`, or nothing, with each part.
    case none

    /// What suits the server, the way to it, and what is known of the source.
    ///
    /// The CRC-64 costs nearly nothing, but a part that goes out in the clear is signed with its SHA-256. Only over TLS
    /// it may be sent without: nobody can change what is on its way there.
    init(_ provider: S3Provider, isSecure: Bool, _ source: UploadSource) {
        self =
            if provider.checksumHeader != .sha256 {
                .none
            } else if provider.fullObjectCRC64, isSecure, source.crc64 != nil {
                .crc64NVME
            } else {
                .sha256
            }
    }

    /// The digests of a part.
    ///
    /// - Parameter provider: one that keeps no checksum proves the whole by a tag over the parts' MD5s, if by anything.
    func kinds(_ provider: S3Provider) -> PayloadDigest.Kinds {
        let withMD5: PayloadDigest.Kinds = self != .none && provider.keepsChecksums ? [] : .md5
        return withMD5.union(self == .crc64NVME ? .crc64 : .sha256)
    }

    /// The fields with which an upload begins.
    func announce(in fields: inout HTTPHeaders) throws(HTTPError) {
        switch self {
        case .sha256: try fields.set("x-amz-checksum-algorithm", "SHA256")
        case .crc64NVME:
            try fields.set("x-amz-checksum-algorithm", "CRC64NVME")
            try fields.set("x-amz-checksum-type", "FULL_OBJECT")
        case .none: break
        }
    }

    /// The field that proves a part, and what its signature says of its bytes.
    func prove(_ digest: PayloadDigest, _ provider: S3Provider, in request: inout S3Request) throws(HTTPError) {
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
    /// - Parameter crc64: CRC-64/NVME in hex.
    mutating func set(crc64: String?) throws(HTTPError) {
        if let text = crc64.flatMap(Base64.text) { try set("x-amz-checksum-crc64nvme", text) }
    }

    /// The field that proves a body; both digests in hex.
    mutating func set(_ header: S3Provider.ChecksumHeader, sha256: String?, md5: String?) throws(HTTPError) {
        switch header {
        case .sha256: if let text = sha256.flatMap(Base64.text) { try set("x-amz-checksum-sha256", text) }
        case .contentMD5: if let text = md5.flatMap(Base64.text) { try set("content-md5", text) }
        case .none: break
        }
    }
}
