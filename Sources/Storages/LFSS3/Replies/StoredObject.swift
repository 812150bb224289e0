import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSSystem

/// The server's description of an object, from the head of a reply.
///
/// It excludes the metadata that this package added itself. Such metadata came with the bytes, so it does not confirm
/// what was stored.
struct StoredObject: Sendable {
    let byteCount: Int64
    let entityTag: EntityTag?
    /// The SHA-256 of the whole content in hex, which the server has checked and kept.
    let checksum: String?
    private let headers: HTTPHeaders

    /// - Parameter byteCount: the size of the whole object, because the reply may contain only a range.
    init(_ head: HTTPResponseHead, byteCount: Int64) {
        self.byteCount = byteCount
        headers = head.headers
        let entityTag = headers["etag"].flatMap(EntityTag.init)
        self.entityTag = entityTag
        checksum = if case .sha256(let hex)? = Self.sha256(headers, entityTag: entityTag) { hex } else { nil }
    }

    /// All evidence that the server computed or checked, checksums first. It is computed on demand, because it is not
    /// needed if there is a ``checksum``.
    var words: [ServerChecksum] {
        var words = Self.sha256(headers, entityTag: entityTag).map { [$0] } ?? []
        for (field, algorithm) in ServerChecksum.checksumFields where Self.checksumType(headers) != "COMPOSITE" {
            guard let hex = headers[field].flatMap({ Base64.hex($0, byteCount: algorithm.byteCount) }) else {
                continue
            }
            words.append(.check(algorithm, hex: hex))
        }
        if let parts = entityTag?.md5OfParts { words.append(.md5OfParts(hex: parts.md5, count: parts.count)) }
        if let md5 = entityTag?.md5 { words.append(.md5(hex: md5)) }
        return words
    }

    private static func sha256(_ headers: HTTPHeaders, entityTag: EntityTag?) -> ServerChecksum? {
        guard let text = headers["x-amz-checksum-sha256"] else { return nil }
        let isComposite = checksumType(headers).map { $0 == "COMPOSITE" } ?? (entityTag?.md5OfParts != nil)
        let partCount = isComposite ? entityTag?.md5OfParts?.count : nil
        return ServerChecksum.sha256(text, isComposite: isComposite, partCount: partCount)
    }

    private static func checksumType(_ headers: HTTPHeaders) -> String? { headers["x-amz-checksum-type"]?.uppercased() }

    func remoteObject(_ key: ObjectKey, at place: S3Place) -> RemoteObject {
        RemoteObject(
            key: key, byteCount: byteCount, sha256: checksum, entityTag: entityTag?.text, url: place.url(of: key))
    }
}
