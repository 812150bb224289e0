package import LFSHTTPStorage
package import LFSStorage

/// The answer to "CompleteMultipartUpload" of the Amazon S3 API reference.
///
/// S3 sends its status before it has put the parts together, so a 200 may carry an error.
package enum CompleteMultipartReply: Hashable, Sendable {
    /// The object is there. The tag is nil where the server leaves it out, or empty. The checksum, where the server
    /// keeps one, is the base64 of a SHA-256 over the checksums of the parts, with `-` and the number of parts.
    case completed(entityTag: EntityTag?, checksumSHA256: String?)
    case failed(ErrorReply)

    /// - Throws: ``StorageError/Code/serverError`` when the body is neither.
    package init(_ body: [UInt8]) throws(StorageError) {
        let root = try XMLReader.read(body, root: "CompleteMultipartUploadResult", "Error")
        if root.name == "Error" {
            self = .failed(try ErrorReply(root))
            return
        }
        let entityTag = root.optional("ETag").flatMap { EntityTag($0) }
        self = .completed(entityTag: entityTag, checksumSHA256: root.optional("ChecksumSHA256"))
    }
}
