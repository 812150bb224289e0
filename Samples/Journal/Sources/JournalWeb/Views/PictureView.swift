import JournalStorage
import LFS

/// A picture as a tile or a line, with a badge for its storage state.
struct PictureView: Sendable {
    let name: String
    let path: String
    let thumbnail: String
    /// The addresses for screens with one and with two pixels for each unit. Nil without a thumbnail.
    let sources: String?
    /// The shape of the thumbnail, or an ordinary one while it is unknown.
    private(set) var width = 320
    private(set) var height = 240
    /// The color of the placeholder. Empty while it is unknown.
    private(set) var color = ""
    let fileID: String
    let size: String
    let caption: String
    let badge: Badge

    init(_ name: String, of record: TimeRecord, image: StoredImage, day: String, badges: BadgeMaker) {
        let number = (record.images.firstIndex(of: name) ?? 0) + 1
        self.init(
            image, name: name, at: "\(record.path)/images/\(name)", caption: "Picture \(number) of \(day)",
            badges: badges)
    }

    init(_ image: TimelineImage, day: String, badges: BadgeMaker) {
        let file = image.image.file
        self.init(
            image.image, name: file.name ?? "\(file.id)", at: "/files/\(file.id)",
            caption: "Picture \(image.number) of \(day)", badges: badges)
        guard let look = image.look else { return }
        width = look.width
        height = look.height
        color = look.color
    }

    /// Returns the text by which addresses name the content of a file.
    static func version(of file: FileData) -> String { String(file.sha256.prefix(16)) }

    init(asset image: StoredImage, badges: BadgeMaker) {
        let name = image.file.name ?? "\(image.file.id)"
        self.init(image, name: name, at: "/files/\(image.file.id)", caption: "Picture \(name)", badges: badges)
    }

    private init(_ image: StoredImage, name: String, at path: String, caption: String, badges: BadgeMaker) {
        self.name = name
        self.path = path
        self.caption = caption
        badge = badges.badge(image)
        let (path, version) = ("/files/\(image.file.id)", Self.version(of: image.file))
        // The address changes when the bytes become available, since browsers cache the contents of an address.
        let isElsewhere = badge.state == "elsewhere"
        thumbnail = "\(path)/thumbnail?" + (isElsewhere ? "elsewhere" : "v=\(version)")
        sources = isElsewhere ? nil : "\(path)/thumbnail?v=\(version) 1x, \(path)/tile?v=\(version) 2x"
        fileID = "\(image.file.id)"
        size = Words.bytes(image.file.byteCount)
    }
}
