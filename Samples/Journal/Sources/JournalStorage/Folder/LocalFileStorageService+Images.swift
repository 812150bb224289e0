public import Foundation

extension LocalFileStorageService {
    public func saveImage(_ data: Data, for record: TimeRecord, filename: String) async throws {
        let chunks = AsyncThrowingStream<Data, any Error> { continuation in
            continuation.yield(data)
            continuation.finish()
        }
        try await saveImage(from: chunks, for: record, filename: filename)
    }

    public func saveImage(from chunks: ImageChunks, for record: TimeRecord, filename: String) async throws {
        let name = try ImageName(writing: filename, of: record)
        _ = try await store(chunks, as: name, of: record) { name }
    }

    public func addImage(
        from chunks: ImageChunks, for record: TimeRecord, fileExtension: String
    ) async throws -> String {
        let first = try ImageName(new: 0, of: record, fileExtension: fileExtension)
        // No other call runs between the search for an index and its use.
        return try await store(chunks, as: first, of: record) {
            let index = try freeIndex(record.id, near: record.start)
            return try ImageName(new: index, of: record, fileExtension: fileExtension)
        }
    }

    public func loadImage(filename: String, for record: TimeRecord) throws -> Data {
        let file = try openImage(filename, record: record)
        return try reading(filename) { try file.data() }
    }

    public func imageChunks(filename: String, for record: TimeRecord) throws -> ImageChunks {
        FileChunks(file: try openImage(filename, record: record), name: filename)
    }

    public func deleteImage(filename: String, for record: TimeRecord) throws {
        let name = try ImageName(reading: filename, of: record).description
        let file = Self.fileName(record.id)
        try change(file) {
            let place = try place(listing: name, of: record)
            var stored = try self.record(record.id, at: place)
            stored.images.removeAll { $0 == name }
            let data = try JournalJSON.encoded(stored, name: file)
            try noting(record.id) {
                try write(data, as: file, in: place.folder, for: record.id.text)
                try place.folder.remove(name)
                try place.folder.sync()
            }
        }
    }

    /// Returns the URL of the picture's file, derived from the start of the given record. The file may not exist.
    public nonisolated func imageURL(filename: String, for record: TimeRecord) -> URL {
        let month = folder.appendingPathComponent("\(JournalMonth(of: record.start))", isDirectory: true)
        return month.appendingPathComponent(
            ImageName(filename, of: record.id)?.description ?? "not-a-picture", isDirectory: false)
    }

    // MARK: Reading

    private func openImage(_ filename: String, record: TimeRecord) throws -> OpenFile {
        let name = try ImageName(reading: filename, of: record).description
        try tidyOnce()
        return try reading(filename) {
            let place = try place(listing: name, of: record)
            if let file = try place.folder.file(name) { return file }
            throw FileStorageError.imageNotFound(name: name, reason: "its file is missing in \(place.month)")
        }
    }

    /// Returns the place of a record that lists a picture.
    private func place(listing name: String, of record: TimeRecord) throws -> RecordPlace {
        guard let place = try place(of: record.id, near: record.start),
            try self.record(record.id, at: place).images.contains(name)
        else { throw FileStorageError.noBytes(name) }
        return place
    }

    /// Returns an index that no picture of a record uses, including pictures that are left over.
    private func freeIndex(_ id: UUID, near start: Date) throws -> Int {
        let place = try requiredPlace(of: id, near: start)
        let names = try place.folder.names() + (try record(id, at: place).images)
        return (names.compactMap { ImageName($0, of: id)?.index }.max() ?? -1) + 1
    }

    // MARK: Writing

    /// Writes a picture to a temporary file, then moves it to its name.
    ///
    /// - Parameter choose: A closure that returns the final name when all bytes are written.
    private func store(
        _ chunks: ImageChunks, as name: ImageName, of record: TimeRecord, _ choose: () throws -> ImageName
    ) async throws -> String {
        do {
            try tidyOnce()
            // Fail before all the bytes are transferred in vain.
            _ = try requiredPlace(of: record.id, near: record.start)
            let file = try TemporaryFile(in: try temporaryFolder(), for: "picture")
            do {
                for try await chunk in chunks { try file.append(chunk) }
                let name = try choose()
                try change(Self.fileName(record.id)) { try commit(file, as: name, near: record.start) }
                return name.description
            } catch {
                try file.remove()
                throw error
            }
        } catch let error as SystemFailure {
            throw FileStorageError.imageWriteFailed(name: name.description, reason: .init(error))
        } catch FileStorageError.fileWriteFailed(_, let reason) {
            throw FileStorageError.imageWriteFailed(name: name.description, reason: reason)
        }
    }

    /// Moves a complete picture to its place, and adds its name to the record.
    private func commit(_ image: TemporaryFile, as name: ImageName, near start: Date) throws {
        let id = name.recordID
        let place = try requiredPlace(of: id, near: start)
        var record = try record(id, at: place)
        guard !record.images.contains(name.description) else {
            return try image.move(to: place.folder, as: name.description)
        }
        record.images.append(name.description)
        let data = try JournalJSON.encoded(record, name: Self.fileName(id))
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
