package import LFSHTTPStorage
package import LFSStorage

/// The reply to "CompleteMultipartUpload" of the Amazon S3 API reference.
///
/// S3 sends the status before it has assembled the parts, so a 200 may contain an error.
package enum CompleteMultipartReply: Hashable, Sendable {
    /// The server's description of the new object.
    package struct Completed: Hashable, Sendable {
        /// nil if the server omits it or leaves it empty.
        package let entityTag: EntityTag?
        /// The base64 of a SHA-256 of the parts' checksums, with `-` and the number of parts. nil if the server keeps
        /// none.
        package let checksumSHA256: String?
        /// The base64 of the CRC-64/NVME of all bytes. nil if the server keeps none.
        package let checksumCRC64: String?

        package init(entityTag: EntityTag?, checksumSHA256: String? = nil, checksumCRC64: String? = nil) {
            self.entityTag = entityTag
            self.checksumSHA256 = checksumSHA256
            self.checksumCRC64 = checksumCRC64
        }
    }

    /// The object exists.
    case completed(Completed)
    case failed(ErrorReply)

    /// - Throws: ``StorageError/Code/serverError`` when the body is neither of the two.
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
