import LFSHTTP
import LFSHTTPStorage
import LFSStorage

/// What the service says of a blob in the head of a reply.
///
/// Its MD5 is the service's own word for a blob that came in one request, and anybody's for one of blocks.
struct StoredBlob: Sendable {
    let byteCount: Int64
    let entityTag: EntityTag?
    /// In hex.
    let md5: String?
    /// What was announced of it, in hex: nobody has compared it.
    let announcedSHA256: String?

    /// - Parameter byteCount: the whole blob's, where the reply's length is that of a range.
    init(_ head: HTTPResponseHead, byteCount: Int64) {
        self.byteCount = byteCount
        entityTag = head.headers["etag"].flatMap(EntityTag.init)
        announcedSHA256 = head.headers[MetadataField.sha256].flatMap { Hex.bytes($0)?.count == 32 ? $0 : nil }
        md5 = head.headers["content-md5"].flatMap { Base64.hex($0, byteCount: 16) }
    }

    /// - Parameter sha256: where the service's word on the bytes is known to be that of the bytes with this digest.
    func remoteObject(_ key: ObjectKey, at place: AzurePlace, sha256: String? = nil) -> RemoteObject {
        RemoteObject(
            key: key, byteCount: byteCount, sha256: sha256, entityTag: entityTag?.text, url: place.url(of: key))
    }
}
