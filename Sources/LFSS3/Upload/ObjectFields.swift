import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage

/// The header fields that describe a new object.
struct ObjectFields: Sendable {
    /// The whole content's SHA-256 in hex, which outlives uploads in parts and servers that keep no checksums.
    static let sha256Field = "x-amz-meta-lfs-sha256"
    /// The user's name for the file, percent-encoded: header fields take no other alphabet.
    static let nameField = "x-amz-meta-lfs-name"

    private let options: S3Options

    init(_ options: S3Options) {
        self.options = options
    }

    /// - Throws: ``HTTPError`` for an option that cannot stand in a header field.
    func make(for source: UploadSource) throws(HTTPError) -> HTTPHeaders {
        try make(contentType: source.contentType, sha256: source.sha256, name: source.name)
    }

    /// - Throws: as ``make(for:)``.
    func make(contentType: String?, sha256: String, name: String? = nil) throws(HTTPError) -> HTTPHeaders {
        var fields = HTTPHeaders()
        try fields.set("content-type", MediaType.field(contentType))
        try fields.set(Self.sha256Field, sha256)
        // Amazon's limit for all such fields together is 2 KB; a name that does not fit is in the database anyway.
        if let name = name.map(PercentEncoding.query), name.utf8.count <= 1_500 {
            try fields.set(Self.nameField, name)
        }
        if let storageClass = options.storageClass { try fields.set("x-amz-storage-class", storageClass) }
        if let acl = options.cannedACL { try fields.set("x-amz-acl", acl) }
        switch options.encryption {
        case nil: break
        case .managed: try fields.set("x-amz-server-side-encryption", "AES256")
        case .kms(let keyID):
            try fields.set("x-amz-server-side-encryption", "aws:kms")
            if let keyID { try fields.set("x-amz-server-side-encryption-aws-kms-key-id", keyID) }
        }
        return fields
    }
}
