package import Foundation
import LFSHTTPStorage
package import LFSStorage

/// The reply to "ListMultipartUploads" of the Amazon S3 API reference.
package struct ListUploadsReply: Hashable, Sendable {
    /// An upload that was started, but neither completed nor aborted.
    package struct Upload: Hashable, Sendable {
        package let key: String
        package let uploadID: String
        /// The time when it was started. nil if the server's text cannot be parsed, so that the upload is never taken
        /// for an old one.
        package let initiated: Date?
    }

    /// The start of the next page.
    package struct Marker: Hashable, Sendable {
        /// The `key-marker`.
        package let key: String
        /// The `upload-id-marker`.
        package let uploadID: String?
    }

    /// The uploads in the server's order.
    package let uploads: [Upload]
    /// nil on the last page.
    package let next: Marker?

    /// - Throws: ``StorageError/Code/serverError`` when the body, of at most 4 MiB, is something else.
    package init(_ body: [UInt8]) throws(StorageError) {
        let root = try XMLReader.read(body, root: "ListMultipartUploadsResult", limit: 4 << 20)
        let isEncoded = root.optional("EncodingType") == "url"
        var uploads: [Upload] = []
        for element in root.all("Upload") {
            guard let key = try element.key("Key", isEncoded: isEncoded) else {
                throw StorageError(.serverError, message: "The server listed an upload without a <Key>.")
            }
            uploads.append(
                Upload(
                    key: key, uploadID: try element.required("UploadId"),
                    initiated: element.optional("Initiated").flatMap { UTCTime(iso8601: $0)?.date }))
        }
        self.uploads = uploads
        guard try root.requiredFlag("IsTruncated") else {
            next = nil
            return
        }
        guard let key = try root.key("NextKeyMarker", isEncoded: isEncoded) else {
            throw StorageError(.serverError, message: "The server's <\(root.name)> has no <NextKeyMarker>.")
        }
        next = Marker(key: key, uploadID: root.optional("NextUploadIdMarker"))
    }
}
