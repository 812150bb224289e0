import LFSHTTP
import LFSHTTPStorage
import LFSStorage

/// The header fields that describe a new blob.
struct BlobFields: Sendable {
    let accessTier: String?

    /// - Throws: ``HTTPError`` for an option that cannot stand in a header field.
    func make(for source: UploadSource) throws(HTTPError) -> HTTPHeaders {
        var fields = try make(contentType: source.contentType, sha256: source.sha256)
        // A name that does not fit is in the database anyway.
        if let name = source.name.map(PercentEncoding.query), name.utf8.count <= 1_500 {
            try fields.set(MetadataField.name, name)
        }
        return fields
    }

    /// The same of bytes that are not here.
    ///
    /// - Parameter sha256: in hex.
    /// - Throws: as above.
    func make(contentType: String?, sha256: String) throws(HTTPError) -> HTTPHeaders {
        var fields = HTTPHeaders()
        try fields.set("x-ms-blob-content-type", MediaType.field(contentType))
        try fields.set(MetadataField.sha256, sha256)
        if let accessTier { try fields.set("x-ms-access-tier", accessTier) }
        return fields
    }
}
