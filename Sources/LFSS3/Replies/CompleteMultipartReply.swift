package import LFSHTTPStorage
package import LFSStorage

/// The answer to "CompleteMultipartUpload" of the Amazon S3 API reference.
///
/// S3 sends its status before it has put the parts together, so a 200 may carry an error.
package enum CompleteMultipartReply: Hashable, Sendable {
    /// What the server says of the object that it has made.
    package struct Completed: Hashable, Sendable {
        /// nil where the server leaves it out, or empty.
        package let entityTag: EntityTag?
        /// The base64 of a SHA-256 over the checksums of the parts, with `-` and the number of parts; nil where the
        /// server keeps none.
        package let checksumSHA256: String?
        /// The base64 of the CRC-64/NVME of all bytes; nil where the server keeps none.
        package let checksumCRC64: String?

        package init(entityTag: EntityTag?, checksumSHA256: String? = nil, checksumCRC64: String? = nil) {
            self.entityTag = entityTag
            self.checksumSHA256 = checksumSHA256
            self.checksumCRC64 = checksumCRC64
        }
    }

    /// The object is there.
    case completed(Completed)
    case failed(ErrorReply)

    /// - Throws: ``StorageError/Code/serverError`` when the body is neither.
    package init(_ body: [UInt8]) throws(StorageError) {
        let root = try XMLReader.read(body, root: "CompleteMultipartUploadResult", "Error")
        if root.name == "Error" {
            self = .failed(try ErrorReply(root))
            return
        }
        let entityTag = root.optional("ETag").flatMap { EntityTag($0) }
        self = .completed(
            Completed(
                entityTag: entityTag, checksumSHA256: root.optional("ChecksumSHA256"),
                checksumCRC64: root.optional("ChecksumCRC64NVME")))
    }
}
