import JournalStorage
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

/// The place of a picture in the journal, as pages show it.
struct PicturePlace: Sendable {
    private(set) var title: String
    /// The path and the first line of the record. Nil for a picture without a record.
    private(set) var record: String?
    private(set) var headline = ""
    /// The paths of the pages of the neighbours in the record.
    private(set) var previous: String?
    private(set) var next: String?

    init(_ file: FileData) { title = "Picture \(file.name ?? "without a name")" }

    init?(_ file: FileData, in record: TimeRecord, images: [String: StoredImage]) {
        guard let index = record.images.firstIndex(where: { images[$0]?.file.id == file.id }) else { return nil }
        title = "Picture \(index + 1) of \(LocalTime(record.zone).day(record.start))"
        self.record = record.path
        headline = RecordView.headline(record.comment)
        let neighbours = [index - 1, index + 1].map { index -> String? in
            guard record.images.indices.contains(index) else { return nil }
            return images[record.images[index]].map { "/files/\($0.file.id)/view" }
        }
        previous = neighbours[0]
        next = neighbours[1]
    }
}
