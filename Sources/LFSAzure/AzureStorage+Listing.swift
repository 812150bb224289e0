import Foundation
import LFSHTTPStorage
public import LFSStorage

extension AzureStorage {
    /// One page of a listing. Names that are no keys of this package are left out.
    ///
    /// - Throws: as `RemoteStorage` says it of `list(_:)`.
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

    /// Gives up uploads in blocks that were begun long ago and never became an object: no listing of objects shows
    /// them. Azure does the same by itself, a week after the last block.
    ///
    /// The transfer queue cleans up after itself; this is for what a lost database has left. To give blocks up takes
    /// two steps, and of a process that died between them there is an empty object, which goes, too: the service keeps
    /// those.
    ///
    /// - Parameters:
    ///   - prefix: the beginning of the keys, such as a database's namespace with its slash.
    ///   - age: younger ones stay, since they may be under way on another device.
    /// - Returns: how many were given up.
    /// - Throws: `StorageError`. What was given up before stays given up.
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
                    if try await abandon(key, blob) { count += 1 }
                }
                try watch.check(reply.blobs.lazy.map(\.name), next: reply.next)
                marker = reply.next
            } while marker != nil
            return count
        }
    }

    private func abandon(_ key: ObjectKey, _ blob: ListBlobsReply.Blob) async throws -> Bool {
        if blob.contentType == AzureClient.abandonedType, let tag = blob.entityTag {
            return try await client.removeAbandoned(key, tag)
        }
        return try await client.abandonBlocks(of: key)
    }
}
