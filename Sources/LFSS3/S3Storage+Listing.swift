import Foundation
import LFSHTTP
import LFSHTTPStorage
public import LFSStorage

extension S3Storage {
    /// One page of a listing ("ListObjectsV2" of the Amazon S3 API reference). Names that are no keys of this package
    /// are left out.
    ///
    /// - Throws: as `RemoteStorage` says it of `list(_:)`.
    public func list(_ request: ListRequest) async throws -> ListPage {
        try await translatingFailures(nil) {
            var list = S3Request(
                .get,
                query: [
                    ("list-type", "2"), ("prefix", client.location.prefix + request.prefix),
                    ("max-keys", String(min(request.limit, 1_000))), ("encoding-type", "url"),
                ])
            if let token = request.continuation { list.query.append(("continuation-token", token)) }
            list.reply = .bytes(limit: 4 << 20)
            let reply = try ListObjectsReply(try await client.send(list).body)
            let place = client.place
            let objects = reply.objects.compactMap { object -> RemoteObject? in
                guard object.name.hasPrefix(client.location.prefix),
                    let key = ObjectKey(listed: String(object.name.dropFirst(client.location.prefix.count)))
                else { return nil }
                return RemoteObject(
                    key: key, byteCount: object.byteCount, entityTag: object.entityTag?.text, url: place.url(of: key))
            }
            return ListPage(objects: objects, next: reply.nextToken)
        }
    }

    /// Gives up uploads in parts that were begun long ago and never completed: their parts are stored and paid for, but
    /// no listing of objects shows them.
    ///
    /// The transfer queue cleans up after itself; this is for what a lost database or a lost reply has left. A rule of
    /// the bucket's life cycle does the same ("AbortIncompleteMultipartUpload").
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
            var marker: ListUploadsReply.Marker?
            var watch = ListingWatch()
            repeat {
                let reply = try await client.uploads(below: prefix, after: marker)
                for upload in reply.uploads {
                    guard let begun = upload.initiated, begun <= limit, upload.key.hasPrefix(client.location.prefix),
                        let key = ObjectKey(listed: String(upload.key.dropFirst(client.location.prefix.count)))
                    else { continue }
                    try await client.abort(key, upload.uploadID)
                    count += 1
                }
                try watch.check(
                    reply.uploads.lazy.map(\.key), next: reply.next.map { "\($0.key)\n\($0.uploadID ?? "")" })
                marker = reply.next
            } while marker != nil
            return count
        }
    }
}
