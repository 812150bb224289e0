import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSSystem

/// What the server says of an object in the head of a reply.
///
/// What this package noted itself in the object's metadata is not among it: it came with the bytes and says nothing of
/// what became of them.
struct StoredObject: Sendable {
    let byteCount: Int64
    let entityTag: EntityTag?
    /// The SHA-256 of the whole content in hex, as the server checked and kept it.
    let checksum: String?
    private let headers: HTTPHeaders

    /// - Parameter byteCount: the whole object's, where the reply's length is that of a range.
    init(_ head: HTTPResponseHead, byteCount: Int64) {
        self.byteCount = byteCount
        headers = head.headers
        let entityTag = headers["etag"].flatMap(EntityTag.init)
        self.entityTag = entityTag
        checksum = if case .sha256(let hex)? = Self.sha256(headers, entityTag) { hex } else { nil }
    }

    /// All that the server itself has computed or checked, the checksums first. It is put together for each who asks:
    /// nobody does when there is a checksum.
    var words: [ServerWord] {
        var words = Self.sha256(headers, entityTag).map { [$0] } ?? []
        for (field, algorithm) in ServerWord.checksumFields where Self.checksumType(headers) != "COMPOSITE" {
            guard let hex = headers[field].flatMap({ Base64.hex($0, byteCount: algorithm.byteCount) }) else {
                continue
            }
            words.append(.check(algorithm, hex: hex))
        }
        if let parts = entityTag?.md5OfParts { words.append(.md5OfParts(hex: parts.md5, count: parts.count)) }
        if let md5 = entityTag?.md5 { words.append(.md5(hex: md5)) }
        return words
    }

    private static func sha256(_ headers: HTTPHeaders, _ entityTag: EntityTag?) -> ServerWord? {
        guard let text = headers["x-amz-checksum-sha256"] else { return nil }
        let isComposite = checksumType(headers).map { $0 == "COMPOSITE" } ?? (entityTag?.md5OfParts != nil)
        let partCount = isComposite ? entityTag?.md5OfParts?.count : nil
        return ServerWord.sha256(text, isComposite: isComposite, partCount: partCount)
    }

    private static func checksumType(_ headers: HTTPHeaders) -> String? { headers["x-amz-checksum-type"]?.uppercased() }

    func remoteObject(_ key: ObjectKey, at place: S3Place) -> RemoteObject {
        RemoteObject(
            key: key, byteCount: byteCount, sha256: checksum, entityTag: entityTag?.text, url: place.url(of: key))
    }
}
