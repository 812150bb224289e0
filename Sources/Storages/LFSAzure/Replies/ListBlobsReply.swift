import Foundation
import LFSHTTPStorage
import LFSStorage

/// The reply to "List Blobs".
struct ListBlobsReply: Hashable, Sendable {
    /// A listed blob. With `uncommittedblobs`, it may have only uncommitted blocks. Its name is not necessarily an
    /// ``ObjectKey``.
    struct Blob: Hashable, Sendable {
        let name: String
        let byteCount: Int64
        let entityTag: EntityTag?
        /// The time of the last write, if the service reports it.
        let modified: Date?
        let contentType: String?
    }

    let blobs: [Blob]
    /// The `marker` of the next page, or nil on the last page.
    let next: String?

    /// The maximum length in bytes, for 5,000 long names.
    static let limit = 24 << 20

    /// - Throws: ``StorageError/Code/serverError`` when the body is something else.
    init(_ body: [UInt8]) throws(StorageError) {
        let root = try XMLReader.read(body, root: "EnumerationResults", limit: Self.limit)
        guard let list = root.all("Blobs").first else {
            throw StorageError(.serverError, message: "The server's list has no <Blobs>.")
        }
        var blobs: [Blob] = []
        for element in list.all("Blob") {
            guard let properties = element.all("Properties").first else {
                throw StorageError(.serverError, message: "The server listed a blob without <Properties>.")
            }
            // With a hierarchical namespace, the service also lists folders.
            if properties.optional("ResourceType") == "directory" { continue }
            blobs.append(
                Blob(
                    name: try element.required("Name"),
                    byteCount: try properties.required("Content-Length", in: 0...Int64.max),
                    entityTag: properties.optional("Etag").flatMap { EntityTag($0) },
                    modified: properties.optional("Last-Modified").flatMap { HTTPDate.parse($0) },
                    contentType: properties.optional("Content-Type")))
        }
        self.blobs = blobs
        next = root.optional("NextMarker")
    }
}
