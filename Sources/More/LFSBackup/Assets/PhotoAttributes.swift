public import Foundation

/// The metadata of an original in a photo library.
public struct PhotoAttributes: Hashable, Sendable {
    /// The kind of a photo in its library.
    public enum Kind: String, Hashable, Sendable {
        /// A picture, also that of a Live Photo.
        case image
        /// A video.
        case video
        /// A sound.
        case audio
        /// A kind that this version of the package does not know.
        case unknown
    }

    /// The identifier of the photo in its library (`PHAsset.localIdentifier`). The picture and the video of a Live
    /// Photo have the same one.
    public let identifier: String
    /// True for the video of a Live Photo.
    public package(set) var isPairedVideo = false
    /// The kind of the photo. A Live Photo is an image.
    public let kind: Kind
    /// The time when the photo was taken. Nil if it is unknown.
    public let createdAt: Date?
    /// The time of the last change, such as an edit. Nil if it is unknown.
    public let modifiedAt: Date?
    /// The length of a video or a sound in seconds.
    public let duration: TimeInterval
    /// The width in pixels.
    public let pixelWidth: Int
    /// The height in pixels.
    public let pixelHeight: Int
    /// True if the user has marked the photo as a favorite.
    public let isFavorite: Bool

    package init(
        identifier: String, kind: Kind, createdAt: Date?, modifiedAt: Date?, duration: TimeInterval, pixelWidth: Int,
        pixelHeight: Int, isFavorite: Bool
    ) {
        self.identifier = identifier
        self.kind = kind
        self.createdAt = createdAt
        self.modifiedAt = modifiedAt
        self.duration = duration
        self.pixelWidth = pixelWidth
        self.pixelHeight = pixelHeight
        self.isFavorite = isFavorite
    }
}
