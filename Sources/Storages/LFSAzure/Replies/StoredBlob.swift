import LFSHTTP
import LFSHTTPStorage
import LFSStorage

/// The service's description of a blob, from the head of a reply.
///
/// The service computes the MD5 of a blob that was uploaded with one request. For a blob with blocks, any client may
/// have written it.
struct StoredBlob: Sendable {
    let byteCount: Int64
    let entityTag: EntityTag?
    /// The MD5 in hex.
    let md5: String?
    /// The announced SHA-256 in hex. The service has not compared it.
    let announcedSHA256: String?

    /// - Parameter byteCount: the size of the whole blob, because the reply may contain only a range.
    init(_ head: HTTPResponseHead, byteCount: Int64) {
        self.byteCount = byteCount
        entityTag = head.headers["etag"].flatMap(EntityTag.init)
        announcedSHA256 = head.headers[MetadataField.sha256].flatMap { Hex.bytes($0)?.count == 32 ? $0 : nil }
        md5 = head.headers["content-md5"].flatMap { Base64.hex($0, byteCount: 16) }
    }

    /// - Parameter sha256: the SHA-256 of the bytes, if the service's checksum is known to match them.
    func remoteObject(_ key: ObjectKey, at place: AzurePlace, sha256: String? = nil) -> RemoteObject {
        RemoteObject(
            key: key, byteCount: byteCount, sha256: sha256, entityTag: entityTag?.text, url: place.url(of: key))
    }
}
