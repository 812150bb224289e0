import LFSHTTPStorage
package import LFSStorage

/// The body of an S3 error: "Error responses" in the Amazon S3 API reference.
package struct ErrorReply: Hashable, Sendable {
    /// S3's name for the error, such as `NoSuchKey`.
    package var code: String
    /// The server's explanation.
    package var message: String?
    /// The region of the bucket, if the request went to another region.
    package var region: String?
    /// The host to use instead, for a redirection.
    package var endpoint: String?
    package var bucketName: String?
    package var requestID: String?
    /// The storage class of an archived object, for `InvalidObjectState`.
    package var storageClass: String?

    package init(code: String, message: String? = nil, region: String? = nil) {
        self.code = code
        self.message = message
        self.region = region
    }

    /// - Throws: ``StorageError/Code/serverError`` when the body, of at most 1 MiB, is something else.
    package init(_ body: [UInt8]) throws(StorageError) {
        try self.init(XMLReader.read(body, root: "Error"))
    }

    init(_ element: ReplyElement) throws(StorageError) {
        code = try element.required("Code")
        message = element.optional("Message")
        region = element.optional("Region")
        endpoint = element.optional("Endpoint")
        bucketName = element.optional("BucketName")
        requestID = element.optional("RequestId")
        storageClass = element.optional("StorageClass")
    }
}
