import LFSHTTPStorage
package import LFSStorage

/// What S3 says of a request that failed: "Error responses" in the Amazon S3 API reference.
package struct ErrorReply: Hashable, Sendable {
    /// S3's name for the failure, such as `NoSuchKey`.
    package var code: String
    /// A sentence in the server's own words.
    package var message: String?
    /// The region that the bucket is in, when the request went to another one.
    package var region: String?
    /// The host that should be asked, with a redirection.
    package var endpoint: String?
    package var bucketName: String?
    package var requestID: String?
    /// The storage class of an object that is archived, with `InvalidObjectState`.
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
