import JournalStorage
import LFS

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
