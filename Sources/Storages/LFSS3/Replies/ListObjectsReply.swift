package import LFSHTTPStorage
package import LFSStorage

/// The reply to "ListObjectsV2" of the Amazon S3 API reference.
package struct ListObjectsReply: Hashable, Sendable {
    /// A listed object. Its name is not necessarily an ``ObjectKey``.
    package struct Object: Hashable, Sendable {
        package let name: String
        package let byteCount: Int64
        package let entityTag: EntityTag?
    }

    /// The objects in the server's order.
    package let objects: [Object]
    /// The `continuation-token` of the next page, or nil on the last page.
    package let nextToken: String?

    /// - Parameter limit: the maximum length of the body in bytes. A page of 1,000 long names has about 1 MiB.
    /// - Throws: ``StorageError/Code/serverError`` when the body is something else.
    package init(_ body: [UInt8], limit: Int = 4 << 20) throws(StorageError) {
        let root = try XMLReader.read(body, root: "ListBucketResult", limit: limit)
        let isEncoded = root.optional("EncodingType") == "url"
        var objects: [Object] = []
        for element in root.all("Contents") {
            guard let name = try element.key("Key", isEncoded: isEncoded) else {
                throw StorageError(.serverError, message: "The server listed an object without a <Key>.")
            }
            objects.append(
                Object(
                    name: name, byteCount: try element.required("Size", in: 0...Int64.max),
                    entityTag: element.optional("ETag").flatMap { EntityTag($0) }))
        }
        self.objects = objects
        nextToken = try root.requiredFlag("IsTruncated") ? root.required("NextContinuationToken") : nil
    }
}
