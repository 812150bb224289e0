import Foundation

extension JournalFolder {
    /// Moves a complete picture to its place, and adds its name to the record.
    func commit(_ image: TemporaryFile, as name: ImageName, near start: Date) throws {
        let id = name.recordID
        let place = try requiredPlace(of: id, near: start)
        var record = try record(id, at: place)
        if record.images.contains(name.description) {
            try image.move(to: place.folder, as: name.description)
        } else {
            record.images.append(name.description)
            let data = try Self.encoded(record, name: Self.fileName(id))
            try noting(id) {
                try image.move(to: place.folder, as: name.description)
                do {
                    try write(data, as: Self.fileName(id), in: place.folder, for: id.text)
                } catch {
                    try place.folder.remove(name.description)
                    throw error
                }
            }
        }
    }

    func deleteImage(_ name: ImageName, near start: Date) throws {
        let id = name.recordID
        let place = try listingPlace(of: name, near: start)
        var record = try record(id, at: place)
        record.images.removeAll { $0 == name.description }
        let data = try Self.encoded(record, name: Self.fileName(id))
        try noting(id) {
            try write(data, as: Self.fileName(id), in: place.folder, for: id.text)
            try place.folder.remove(name.description)
            try place.folder.sync()
        }
    }

    /// Opens a picture that its record lists.
    func openImage(_ name: ImageName, near start: Date) throws -> OpenFile {
        let place = try listingPlace(of: name, near: start)
        do {
            if let file = try place.folder.file(name.description) { return file }
        } catch {
            throw FileStorageError.fileReadFailed(name: "\(place.month)/\(name)", reason: .init(error))
        }
        throw FileStorageError.imageNotFound(name: name.description, reason: "its file is missing in \(place.month)")
    }

    /// Returns an index that no picture of a record uses, including pictures that are left over.
    func freeIndex(_ id: UUID, near start: Date) throws -> Int {
        let place = try requiredPlace(of: id, near: start)
        let names = try place.folder.names() + (try record(id, at: place).images)
        return (names.compactMap { ImageName($0, of: id)?.index }.max() ?? -1) + 1
    }

    /// Returns the place of the record if it lists the picture.
    private func listingPlace(of name: ImageName, near start: Date) throws -> RecordPlace {
        guard let place = try place(of: name.recordID, near: start),
            try record(name.recordID, at: place).images.contains(name.description)
        else { throw FileStorageError.noBytes(name.description) }
        return place
    }
}
