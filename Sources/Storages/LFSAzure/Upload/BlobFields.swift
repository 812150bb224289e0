import LFSHTTP
import LFSHTTPStorage
import LFSStorage

/// The header fields that describe a new blob.
struct BlobFields: Sendable {
    let accessTier: String?

    /// - Throws: ``HTTPError`` for an option that is invalid in a header field.
    func make(for source: UploadSource) throws(HTTPError) -> HTTPHeaders {
        var fields = try make(contentType: source.contentType, sha256: source.sha256)
        // A longer name is left out, because the database has it anyway.
        if let name = source.name.map(PercentEncoding.query), name.utf8.count <= 1_500 {
            try fields.set(MetadataField.name, value: name)
        }
        return fields
    }

    /// Returns the fields for bytes that are not on this machine.
    ///
    /// - Parameter sha256: the SHA-256 in hex.
    /// - Throws: ``HTTPError`` for an option that is invalid in a header field.
    func make(contentType: String?, sha256: String) throws(HTTPError) -> HTTPHeaders {
        var fields = HTTPHeaders()
        try fields.set("x-ms-blob-content-type", value: MediaType.field(contentType))
        try fields.set(MetadataField.sha256, value: sha256)
        if let accessTier { try fields.set("x-ms-access-tier", value: accessTier) }
        return fields
    }
}
