import Foundation
import LFSHTTPStorage
import LFSStorage

/// The answer to "List Blobs".
struct ListBlobsReply: Hashable, Sendable {
    /// One blob, or with `uncommittedblobs` the place of one. Its name may be one that is not an ``ObjectKey``.
    struct Blob: Hashable, Sendable {
        let name: String
        let byteCount: Int64
        let entityTag: EntityTag?
        /// When it was last written, as far as the service says so.
        let modified: Date?
        let contentType: String?
    }

    let blobs: [Blob]
    /// The `marker` of the next page, nil on the last one.
    let next: String?

    /// How long it may be: 5,000 long names.
    static let limit = 24 << 20

    /// - Throws: ``StorageError/Code/serverError`` when the body is something else.
    init(_ body: [UInt8]) throws(StorageError) {
        let root = try XMLReader.read(body, root: "EnumerationResults", limit: Self.limit)
        guard let list = root.all("Blobs").first else {
            throw StorageError(.serverError, "The server's list has no <Blobs>.")
        }
        var blobs: [Blob] = []
        for element in list.all("Blob") {
            guard let properties = element.all("Properties").first else {
                throw StorageError(.serverError, "The server listed a blob without <Properties>.")
            }
            // With a hierarchical namespace folders are listed, too.
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
