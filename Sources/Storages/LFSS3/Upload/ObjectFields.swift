import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage

/// The header fields that describe a new object.
struct ObjectFields: Sendable {
    /// The SHA-256 of the whole content in hex. It is kept even for multipart uploads and by servers without checksums.
    static let sha256Field = "x-amz-meta-lfs-sha256"
    /// The user's name for the file, percent-encoded because header fields only allow ASCII.
    static let nameField = "x-amz-meta-lfs-name"

    private let options: S3Options

    init(_ options: S3Options) {
        self.options = options
    }

    /// - Throws: ``HTTPError`` for an option that is invalid in a header field.
    func make(for source: UploadSource) throws(HTTPError) -> HTTPHeaders {
        try make(contentType: source.contentType, sha256: source.sha256, name: source.name)
    }

    /// - Throws: the errors of ``make(for:)``.
    func make(contentType: String?, sha256: String, name: String? = nil) throws(HTTPError) -> HTTPHeaders {
        var fields = HTTPHeaders()
        try fields.set("content-type", value: MediaType.field(contentType))
        try fields.set(Self.sha256Field, value: sha256)
        // Amazon limits all such fields together to 2 KB. A longer name is left out, because the database has it
        // anyway.
        if let name = name.map(PercentEncoding.query), name.utf8.count <= 1_500 {
            try fields.set(Self.nameField, value: name)
        }
        if let storageClass = options.storageClass { try fields.set("x-amz-storage-class", value: storageClass) }
        if let acl = options.cannedACL { try fields.set("x-amz-acl", value: acl) }
        switch options.encryption {
        case nil: break
        case .managed: try fields.set("x-amz-server-side-encryption", value: "AES256")
        case .kms(let keyID):
            try fields.set("x-amz-server-side-encryption", value: "aws:kms")
            if let keyID { try fields.set("x-amz-server-side-encryption-aws-kms-key-id", value: keyID) }
        }
        return fields
    }
}
