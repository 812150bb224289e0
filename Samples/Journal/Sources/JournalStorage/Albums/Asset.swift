public import Foundation
public import LFS

/// A picture with an owner, which albums show. An owner has one asset for each file, even if several records and albums
/// contain it.
public struct Asset: Hashable, Sendable, Identifiable {
    /// The asset's id. By default it is derived from the owner and the file, so that two devices that create an asset
    /// of the same file create the same one.
    public var id: UUID
    /// The asset's id on a server. Nil until a server has assigned one. No two assets have the same remote id.
    public var remoteID: String?
    /// The asset's id in the photo library of this device. Nil if it is in none. No two assets of one owner have the
    /// same local id.
    public var localID: String?
    /// The owner of the asset: any text by which an app identifies people.
    public var ownerID: String
    /// The SHA-256 hash of the bytes, as 64 lowercase hex digits. No two assets of one owner have the same checksum.
    public let checksum: String
    /// The time when the asset was created, to the millisecond.
    public var createdAt: Date
    /// The id of the file with the bytes.
    public let fileID: FileData.ID
    /// The kind of media.
    public var kind = Kind.other
    /// The width in pixels. Nil if it is unknown.
    public var width: Int?
    /// The height in pixels. Nil if it is unknown.
    public var height: Int?
    /// The length of a video or a recording, to the millisecond. Nil for a picture.
    public var duration: Duration?
    /// Indicates that the owner has marked the asset as a favourite.
    public var isFavorite = false
    /// The time when the asset was last edited, to the millisecond. Nil if it never was.
    public var modifiedAt: Date? { didSet { modifiedAt = modifiedAt?.wholeMilliseconds } }

    /// A kind of media. Newer versions of an app may store other kinds, which keep their names.
    public struct Kind: RawRepresentable, Hashable, Sendable {
        /// The stored name.
        public let rawValue: String

        /// Creates a kind from its stored name.
        public init(rawValue: String) { self.rawValue = rawValue }

        /// A picture.
        public static let image = Kind(rawValue: "image")
        /// A video.
        public static let video = Kind(rawValue: "video")
        /// A recording of sound.
        public static let audio = Kind(rawValue: "audio")
        /// Any other file.
        public static let other = Kind(rawValue: "other")

        /// Returns the kind of a file by its content type.
        public init(contentType: String?) {
            let known = [Kind.image, .video, .audio]
            self = known.first { contentType?.lowercased().hasPrefix($0.rawValue + "/") == true } ?? .other
        }
    }
}

extension Asset {
    /// Creates an asset with the bytes of a file and rounds its time to the millisecond. Its kind is that of the file's
    /// content type.
    public init(
        id: UUID? = nil, remoteID: String? = nil, localID: String? = nil, ownerID: String, file: FileData,
        createdAt: Date
    ) {
        self.init(
            id: id ?? UUID(hashing: "\(file.id) \(ownerID)"), remoteID: remoteID, localID: localID, ownerID: ownerID,
            checksum: file.sha256, createdAt: createdAt.wholeMilliseconds, fileID: file.id,
            kind: Kind(contentType: file.contentType))
    }
}

extension Duration {
    /// The whole milliseconds of a duration that is not longer than a hundred years. Nil for any other duration.
    var wholeMilliseconds: Int64? {
        guard self >= .zero, self <= .seconds(3_155_760_000) else { return nil }
        return components.seconds * 1_000 + components.attoseconds / 1_000_000_000_000_000
    }
}
