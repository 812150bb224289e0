import LFS

/// A picture on a page of its own.
struct SinglePictureView: Sendable {
    let fileID: String
    /// The path of the shown version.
    let source: String
    /// The path of the original picture.
    let original: String
    /// A description of the shown version.
    let shown: String
    let size: String
    let badge: Badge
    let place: PicturePlace

    /// - Parameter makesSmall: Indicates that previews and thumbnails are available.
    init(_ file: FileData, badge: Badge, place: PicturePlace, appearance: Appearance, makesSmall: Bool) {
        fileID = "\(file.id)"
        original = "/files/\(file.id)"
        self.badge = badge
        self.place = place
        size = Words.bytes(file.byteCount)
        if badge.state == "elsewhere" {
            source = "\(original)/thumbnail?elsewhere"
            shown = "The picture is not available yet."
        } else if appearance.loadsOriginal || !makesSmall {
            source = original
            shown = "This is the original."
        } else if appearance.loadsPreview {
            source = "\(original)/preview"
            shown = "This is a preview."
        } else {
            source = "\(original)/thumbnail"
            shown = "This is a thumbnail."
        }
    }
}
