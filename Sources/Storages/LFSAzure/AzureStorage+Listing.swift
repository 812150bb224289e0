import Foundation
import LFSHTTPStorage
public import LFSStorage

extension AzureStorage {
    /// Returns one page of a listing. Names that are not keys of this package are left out.
    ///
    /// - Throws: the errors of `RemoteStorage.list(_:)`.
    public func list(_ request: ListRequest) async throws -> ListPage {
        try await translatingFailures(nil) {
            let reply = try await client.list(
                below: request.prefix, limit: request.limit, marker: request.continuation)
            let place = client.place
            let objects = reply.blobs.compactMap { blob -> RemoteObject? in
                guard let key = place.key(listed: blob.name) else { return nil }
                return RemoteObject(
                    key: key, byteCount: blob.byteCount, entityTag: blob.entityTag?.text, url: place.url(of: key))
            }
            return ListPage(objects: objects, next: reply.next)
        }
    }

    /// Drops old blocks of uploads that never became an object. Listings of objects do not show them. Azure drops them
    /// automatically a week after the last block.
    ///
    /// The transfer queue cleans up after itself. This method removes uploads of a lost database. Dropping blocks takes
    /// two requests. If a process died between them, an empty blob remains, which Azure keeps. This method deletes it
    /// as well.
    ///
    /// - Parameters:
    ///   - prefix: the beginning of the keys, such as a database's namespace with its slash.
    ///   - age: younger uploads are kept, because another device may still be working on them.
    /// - Returns: the number of dropped uploads.
    /// - Throws: `StorageError`. Uploads dropped before the error remain dropped.
    @discardableResult
    public func abandonUploads(below prefix: String, olderThan age: Duration) async throws -> Int {
        try await translatingFailures(nil) {
            let limit = Date().addingTimeInterval(-(age / .seconds(1)))
            var count = 0
            var marker: String?
            var watch = ListingWatch()
            repeat {
                let reply = try await client.list(
                    below: prefix, limit: 5_000, marker: marker, alsoUncommitted: true)
                for blob in reply.blobs where blob.byteCount == 0 {
                    guard let begun = blob.modified, begun <= limit, let key = client.place.key(listed: blob.name)
                    else { continue }
                    if try await abandon(key, blob: blob) { count += 1 }
                }
                try watch.check(reply.blobs.lazy.map(\.name), next: reply.next)
                marker = reply.next
            } while marker != nil
            return count
        }
    }

    private func abandon(_ key: ObjectKey, blob: ListBlobsReply.Blob) async throws -> Bool {
        if blob.contentType == AzureClient.abandonedType, let tag = blob.entityTag {
            return try await client.removeAbandoned(key, tag: tag)
        }
        return try await client.abandonBlocks(of: key)
    }
}
