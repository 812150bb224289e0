import LFSStorage
import LFSWire

/// The question for the place of a new object.
struct UploadAsk: Hashable, Sendable {
    let key: ObjectKey
    let byteCount: Int64
    let sha256: String
    /// nil where the server does not want one.
    let md5: String?
    let contentType: String?

    init(_ source: UploadSource, to key: ObjectKey, md5: String?) {
        self.init(key, source.byteCount, source.sha256, md5, source.contentType)
    }

    init(_ upcoming: UpcomingUpload) {
        self.init(upcoming.key, upcoming.byteCount, upcoming.sha256, nil, upcoming.contentType)
    }

    private init(_ key: ObjectKey, _ byteCount: Int64, _ sha256: String, _ md5: String?, _ contentType: String?) {
        self.key = key
        self.byteCount = byteCount
        self.sha256 = sha256
        self.md5 = md5
        // A type that no header field can carry is left out, so that the file is uploaded.
        self.contentType = contentType.flatMap { type in
            let isPlain = (1...255).contains(type.utf8.count) && type.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
            return isPlain ? type : nil
        }
    }

    /// - Parameter replaces: whether an object under the key may be replaced.
    func object(replaces: Bool) -> SigningObject {
        var object = SigningObject(key: key.rawValue, size: byteCount, sha256: sha256, md5: md5)
        object.type = contentType
        if replaces { object.replace = true }
        return object
    }

    /// For whether the store has that very content.
    var confirmation: SigningObject {
        SigningObject(key: key.rawValue, size: byteCount, sha256: sha256, md5: md5)
    }
}
