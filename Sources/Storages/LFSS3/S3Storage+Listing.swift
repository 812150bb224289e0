import Foundation
import LFSHTTP
import LFSHTTPStorage
public import LFSStorage

extension S3Storage {
    /// Returns one page of a listing ("ListObjectsV2" of the Amazon S3 API reference). Names that are not keys of this
    /// package are left out.
    ///
    /// - Throws: the errors of `RemoteStorage.list(_:)`.
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
                guard let key = client.location.key(listed: object.name) else { return nil }
                return RemoteObject(
                    key: key, byteCount: object.byteCount, entityTag: object.entityTag?.text, url: place.url(of: key))
            }
            return ListPage(objects: objects, next: reply.nextToken)
        }
    }

    /// Aborts old multipart uploads that were never completed. Their parts are stored and billed, but listings of
    /// objects do not show them.
    ///
    /// The transfer queue cleans up after itself. This method removes uploads of a lost database or a lost reply. A
    /// life cycle rule of the bucket does the same ("AbortIncompleteMultipartUpload").
    ///
    /// - Parameters:
    ///   - prefix: the beginning of the keys, such as a database's namespace with its slash.
    ///   - age: younger uploads are kept, because another device may still be working on them.
    /// - Returns: the number of aborted uploads.
    /// - Throws: `StorageError`. Uploads aborted before the error remain aborted.
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
                    guard let begun = upload.initiated, begun <= limit,
                        let key = client.location.key(listed: upload.key)
                    else { continue }
                    try await client.abort(key, uploadID: upload.uploadID)
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
