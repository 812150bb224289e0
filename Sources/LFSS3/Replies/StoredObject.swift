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
    /// All that the server itself has computed or checked, the checksums first.
    let words: [ServerWord]

    /// - Parameter byteCount: the whole object's, where the reply's length is that of a range.
    init(_ head: HTTPResponseHead, byteCount: Int64) {
        self.byteCount = byteCount
        entityTag = head.headers["etag"].flatMap(EntityTag.init)
        let md5OfParts = entityTag?.md5OfParts
        let type = head.headers["x-amz-checksum-type"]?.uppercased()
        let isComposite = type.map { $0 == "COMPOSITE" } ?? (md5OfParts != nil)
        var words: [ServerWord] = []
        if let text = head.headers["x-amz-checksum-sha256"] {
            words += ServerWord.sha256(text, isComposite: isComposite, partCount: md5OfParts?.count).map { [$0] } ?? []
        }
        for (field, algorithm) in ServerWord.checksumFields where type != "COMPOSITE" {
            guard let hex = head.headers[field].flatMap({ Base64.hex($0, byteCount: algorithm.byteCount) }) else {
                continue
            }
            words.append(.check(algorithm, hex: hex))
        }
        if let parts = md5OfParts { words.append(.md5OfParts(hex: parts.md5, count: parts.count)) }
        if let md5 = entityTag?.md5 { words.append(.md5(hex: md5)) }
        self.words = words
        checksum = words.lazy.compactMap { word in if case .sha256(let hex) = word { hex } else { nil } }.first
    }

    func remoteObject(_ key: ObjectKey, at place: S3Place) -> RemoteObject {
        RemoteObject(
            key: key, byteCount: byteCount, sha256: checksum, entityTag: entityTag?.text, url: place.url(of: key))
    }
}
