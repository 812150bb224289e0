import LFS

/// A picture on a page of its own.
struct SinglePictureView: Sendable {
    let fileID: String
    /// Where what is shown comes from.
    let source: String
    /// Where the picture itself is.
    let original: String
    /// What is shown, in words.
    let shown: String
    let size: String
    let badge: Badge

    /// - Parameter makesSmall: whether there are previews and small pictures.
    init(_ file: FileData, _ upload: Upload?, _ appearance: Appearance, makesSmall: Bool) {
        (fileID, original) = ("\(file.id)", "/files/\(file.id)")
        badge = Badge(file, upload)
        size = Words.bytes(file.byteCount)
        if badge.state == "elsewhere" {
            (source, shown) = ("\(original)/thumbnail?elsewhere", "It is not here yet.")
        } else if appearance.loadsOriginal || !makesSmall {
            (source, shown) = (original, "This is the picture itself.")
        } else if appearance.loadsPreview {
            (source, shown) = ("\(original)/preview", "This is a preview.")
        } else {
            (source, shown) = ("\(original)/thumbnail", "This is a small picture of it.")
        }
    }
}
