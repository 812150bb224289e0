/// A picture in the timeline.
public struct TimelineImage: Hashable, Sendable {
    /// The file and its upload.
    public let image: StoredImage
    /// The record, without its tags and the names of its pictures.
    public let record: TimeRecord
    /// The place of the picture in its record, from 1.
    public let number: Int
    /// The look of the picture. Nil until its thumbnail was made on this device.
    public let look: PictureLook?
}
