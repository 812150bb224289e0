import LFSHTTPStorage
package import LFSStorage

/// The reply to "CreateMultipartUpload" of the Amazon S3 API reference.
package struct CreateMultipartReply: Hashable, Sendable {
    package let uploadID: String

    /// - Throws: ``StorageError/Code/serverError`` when the body is something else.
    package init(_ body: [UInt8]) throws(StorageError) {
        uploadID = try XMLReader.read(body, root: "InitiateMultipartUploadResult").required("UploadId")
    }
}
