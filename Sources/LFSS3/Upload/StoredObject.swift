import Foundation
import LFSHTTP
import LFSStorage

/// What the server says of an object in the head of a reply.
struct StoredObject: Sendable {
    let byteCount: Int64
    let entityTag: EntityTag?
    /// The SHA-256 of the whole content in hex, as the server checked and kept it.
    let checksum: String?
    /// The SHA-256 that the uploader noted; what this package uploads has it.
    let notedChecksum: String?

    /// - Parameter byteCount: the whole object's, where the reply's length is that of a range.
    init(_ head: HTTPResponseHead, byteCount: Int64) {
        self.byteCount = byteCount
        entityTag = head.headers["etag"].flatMap(EntityTag.init)
        checksum = head.headers["x-amz-checksum-sha256"].flatMap(Base64.hex)
        notedChecksum = head.headers[ObjectFields.sha256Field]
    }

    /// Whether it has the bytes of a source, by its size and the best checksum there is.
    ///
    /// False when there is none: nothing is taken for the same on the strength of its size.
    func matches(_ source: UploadSource) -> Bool {
        byteCount == source.byteCount && (checksum ?? notedChecksum) == source.sha256
    }

    func remoteObject(_ key: ObjectKey, at place: S3Place) -> RemoteObject {
        RemoteObject(
            key: key, byteCount: byteCount, sha256: checksum, entityTag: entityTag?.text, url: place.url(of: key))
    }
}

extension HTTPResponseHead {
    /// Whether S3 has answered, and not a proxy or the sign-in page of a network, which say 200 to everything and may
    /// have an entity tag as well.
    var isFromS3: Bool { !isForeignPage && (status == 204 || hasFieldOfS3 || headers["etag"] != nil) }

    /// Whether it leads a page for people that S3 has not written; an object of S3 may be one.
    var isForeignPage: Bool {
        guard let type = headers["content-type"]?.lowercased(), type.hasPrefix("text/html") else { return false }
        return !hasFieldOfS3
    }

    /// Whether it has a field that only S3 and servers like it write.
    var hasFieldOfS3: Bool {
        headers.fields.contains { field in
            ["x-amz-", "x-goog-"].contains { field.name.lowercased().hasPrefix($0) }
        }
    }
}

/// The two ways to write a digest: hex here, base64 in S3's fields.
enum Base64 {
    /// The 32 bytes of a SHA-256 as hex; nil for a checksum over checksums (`…-5`) and for anything else.
    static func hex(_ base64: String) -> String? {
        guard let bytes = Data(base64Encoded: base64), bytes.count == 32 else { return nil }
        return Hex.text(bytes)
    }

    static func text(hex: String) -> String? {
        Hex.bytes(hex).map { Data($0).base64EncodedString() }
    }
}
