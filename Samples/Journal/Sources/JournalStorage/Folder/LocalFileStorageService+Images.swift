public import Foundation

extension LocalFileStorageService {
    public func saveImage(_ data: Data, for record: TimeRecord, filename: String) throws {
        let name = try ImageName(writing: filename, of: record)
        try tidyOnce()
        let file = try newImage(name, record: record)
        try complete(file, name: name) {
            try file.append(data)
            try mutate { try tree.commit(file, as: name, near: record.start) }
        }
    }

    public func saveImage(from chunks: ImageChunks, for record: TimeRecord, filename: String) async throws {
        let name = try ImageName(writing: filename, of: record)
        let file = try await written(chunks, name: name, record: record)
        try complete(file, name: name) { try mutate { try tree.commit(file, as: name, near: record.start) } }
    }

    public func addImage(
        from chunks: ImageChunks, for record: TimeRecord, fileExtension: String
    ) async throws -> String {
        let name = try ImageName(new: 0, of: record, fileExtension: fileExtension)
        let file = try await written(chunks, name: name, record: record)
        // No other call runs between the search for an index and its use.
        return try complete(file, name: name) {
            let index = try tree.freeIndex(record.id, near: record.start)
            let name = try ImageName(new: index, of: record, fileExtension: fileExtension)
            try mutate { try tree.commit(file, as: name, near: record.start) }
            return name.description
        }
    }

    public func loadImage(filename: String, for record: TimeRecord) throws -> Data {
        let file = try openImage(filename, record: record)
        do {
            return try file.data()
        } catch {
            throw FileStorageError.fileReadFailed(name: filename, reason: .init(error))
        }
    }

    public func imageChunks(filename: String, for record: TimeRecord) throws -> ImageChunks {
        FileChunks(file: try openImage(filename, record: record), name: filename)
    }

    public func deleteImage(filename: String, for record: TimeRecord) throws {
        let name = try ImageName(reading: filename, of: record)
        try mutate { try tree.deleteImage(name, near: record.start) }
    }

    /// Returns the URL of the picture's file, derived from the start of the given record. The file may not exist.
    public nonisolated func imageURL(filename: String, for record: TimeRecord) -> URL {
        let month = folder.appendingPathComponent("\(JournalMonth(of: record.start))", isDirectory: true)
        return month.appendingPathComponent(
            ImageName(filename, of: record.id)?.description ?? "not-a-picture", isDirectory: false)
    }

    // MARK: Writing

    private func newImage(_ name: ImageName, record: TimeRecord) throws -> TemporaryFile {
        // Fail before all the bytes are transferred in vain.
        _ = try tree.requiredPlace(of: record.id, near: record.start)
        do {
            return try TemporaryFile(in: try tree.temporaryFolder(), for: "picture")
        } catch let error as SystemFailure {
            throw FileStorageError.imageWriteFailed(name: name.description, reason: .init(error))
        }
    }

    private func written(_ chunks: ImageChunks, name: ImageName, record: TimeRecord) async throws -> TemporaryFile {
        try tidyOnce()
        let file = try newImage(name, record: record)
        do {
            for try await chunk in chunks { try append(chunk, to: file, name: name) }
        } catch {
            try file.remove()
            throw error
        }
        return file
    }

    private func append(_ chunk: Data, to file: TemporaryFile, name: ImageName) throws {
        do {
            try file.append(chunk)
        } catch {
            throw FileStorageError.imageWriteFailed(name: name.description, reason: .init(error))
        }
    }

    private func complete<Result>(_ file: TemporaryFile, name: ImageName, _ body: () throws -> Result) throws
        -> Result
    {
        do {
            return try body()
        } catch {
            try file.remove()
            switch error {
            case let error as SystemFailure:
                throw FileStorageError.imageWriteFailed(name: name.description, reason: .init(error))
            case FileStorageError.fileWriteFailed(_, let reason):
                throw FileStorageError.imageWriteFailed(name: name.description, reason: reason)
            default: throw error
            }
        }
    }

    private func openImage(_ filename: String, record: TimeRecord) throws -> OpenFile {
        let name = try ImageName(reading: filename, of: record)
        try tidyOnce()
        return try tree.openImage(name, near: record.start)
    }
}
