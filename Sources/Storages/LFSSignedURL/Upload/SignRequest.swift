import LFSStorage
import LFSWire

/// A request for the upload of a new object.
struct SignRequest: Hashable, Sendable {
    let key: ObjectKey
    let byteCount: Int64
    let sha256: String
    /// nil if the server requires no MD5.
    let md5: String?
    let contentType: String?

    init(_ source: UploadSource, to key: ObjectKey, md5: String?) {
        self.init(key, byteCount: source.byteCount, sha256: source.sha256, md5: md5, contentType: source.contentType)
    }

    init(_ upcoming: UpcomingUpload) {
        self.init(
            upcoming.key, byteCount: upcoming.byteCount, sha256: upcoming.sha256, md5: nil,
            contentType: upcoming.contentType)
    }

    private init(_ key: ObjectKey, byteCount: Int64, sha256: String, md5: String?, contentType: String?) {
        self.key = key
        self.byteCount = byteCount
        self.sha256 = sha256
        self.md5 = md5
        // A type that is invalid in a header field is left out. The file is uploaded in any case.
        self.contentType = contentType.flatMap { type in
            let isPlain = (1...255).contains(type.utf8.count) && type.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
            return isPlain ? type : nil
        }
    }

    /// - Parameter replaces: true if an existing object may be replaced.
    func object(replaces: Bool) -> SigningObject {
        var object = SigningObject(key: key.rawValue, size: byteCount, sha256: sha256, md5: md5)
        object.type = contentType
        if replaces { object.replace = true }
        return object
    }

    /// The request that asks whether the store has this content.
    var confirmation: SigningObject {
        SigningObject(key: key.rawValue, size: byteCount, sha256: sha256, md5: md5)
    }
}
