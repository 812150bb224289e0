import JournalStorage
import LFS

extension WebParts {
    /// Returns the place of a picture. The name of a row may be any text, so the record is asked for the file.
    func place(of file: FileData) async throws -> PicturePlace {
        guard let name = file.name.flatMap({ ImageName($0) }) else { return PicturePlace(file) }
        do {
            let record = try await journal.loadRecord(name.recordID)
            let images = try await journal.storedImages(of: [record])
            return PicturePlace(file, in: record, images: images) ?? PicturePlace(file)
        } catch FileStorageError.fileNotFound {
            return PicturePlace(file)
        }
    }
}
