public import Foundation
import GRDB
public import LFS

extension DatabaseStorageService {
    public func saveImage(_ data: Data, for record: TimeRecord, filename: String) async throws {
        try await saveImage(from: .bytes(data), for: record, filename: filename)
    }

    public func saveImage(from chunks: ImageChunks, for record: TimeRecord, filename: String) async throws {
        try await saveImage(from: .chunks(chunks), for: record, filename: filename)
    }

    /// Stores a picture as ``saveImage(from:for:filename:)-(ImageChunks,_,_)`` does, from a file or any other source
    /// that LFS supports.
    ///
    /// - Throws: The errors of that method.
    public func saveImage(from source: FileSource, for record: TimeRecord, filename: String) async throws {
        let name = try ImageName(writing: filename, of: record)
        try await attach(source, as: name) { _ in name }
    }

    public func addImage(
        from chunks: ImageChunks, for record: TimeRecord, fileExtension: String
    ) async throws -> String {
        try await addImage(from: .chunks(chunks), for: record, fileExtension: fileExtension)
    }

    /// Stores a new picture as ``addImage(from:for:fileExtension:)-(ImageChunks,_,_)`` does, from a file or any other
    /// source that LFS supports.
    ///
    /// - Throws: The errors of that method.
    public func addImage(
        from source: FileSource, for record: TimeRecord, fileExtension: String
    ) async throws -> String {
        let first = try ImageName(new: 0, of: record, fileExtension: fileExtension)
        // The index is determined in the transaction that uses it.
        return try await attach(source, as: first) { db in
            let index = try PictureTable.freeIndex(record.id, db)
            return try ImageName(new: index, of: record, fileExtension: fileExtension)
        }
    }

    public func loadImage(filename: String, for record: TimeRecord) async throws -> Data {
        let file = try await imageFile(filename: filename, for: record)
        let data = try await reading(file, filename: filename) { try await lfs.data(of: file) }
        return try Self.required(data, filename: filename)
    }

    public func imageChunks(filename: String, for record: TimeRecord) async throws -> ImageChunks {
        let file = try await imageFile(filename: filename, for: record)
        let contents = try await reading(file, filename: filename) { try await lfs.contents(of: file) }
        return PictureChunks(contents: try Self.required(contents, filename: filename), name: filename)
    }

    /// Returns the file of a picture: its size, its type and its storage state. `Upload` can be joined to it.
    ///
    /// - Throws: ``FileStorageError/imageNotFound(name:reason:)``, ``FileStorageError/fileReadFailed(name:reason:)``.
    public func imageFile(filename: String, for record: TimeRecord) async throws -> FileData {
        let name = try ImageName(reading: filename, of: record)
        guard let file = try await read(filename, { db in try PictureTable.file(name, db) }) else {
            throw FileStorageError.noBytes(filename)
        }
        return file
    }

    public func deleteImage(filename: String, for record: TimeRecord) async throws {
        let name = try ImageName(reading: filename, of: record)
        try await write(filename) { db in
            guard try PictureTable.delete(name, db) else { throw FileStorageError.noBytes(filename) }
        }
    }

    /// Returns the file of a picture of any record, or nil if the file does not exist or is not a picture.
    public func imageFile(_ id: FileData.ID) async throws -> FileData? {
        try await read("\(id)") { db in
            guard try PictureTable.picture(of: id, db) != nil else { return nil }
            return try FileData.fetchOne(db, key: id)
        }
    }

    /// Returns `journal:///records/{record-id}/images/{name}`, which identifies a picture. Browsers cannot open it.
    public func imageURL(filename: String, for record: TimeRecord) -> URL {
        let name = ImageName(filename, of: record.id)?.description ?? "not-a-picture"
        var parts = URLComponents()
        parts.scheme = "journal"
        parts.host = ""
        parts.path = "/records/\(record.id.text)/images/\(name)"
        return parts.url ?? URL(filePath: parts.path)
    }

    // MARK: Parts

    /// - Parameter choose: A closure that returns the final name, called in the transaction.
    @discardableResult
    private func attach(
        _ source: FileSource, as name: ImageName, _ choose: @escaping @Sendable (Database) throws -> ImageName
    ) async throws -> String {
        let id = name.recordID
        // Fail before all the bytes are transferred in vain.
        _ = try await loadRecord(id)
        return try await Self.catching {
            .imageWriteFailed(name: name.description, reason: $0)
        } _: {
            try await lfs.withFile(from: source.named(name.description)) { made in
                try await database.write { db in
                    guard try RecordTable.contains(id, db) else { throw FileStorageError.fileNotFound(name: id.text) }
                    let chosen = try choose(db)
                    var file = made
                    file.name = chosen.description
                    try file.insert(db)
                    try PictureTable.put(chosen, file: file.id, db)
                    return chosen.description
                }
            }
        }
    }

    private func reading<Result>(
        _ file: FileData, filename: String, _ body: () async throws -> Result
    ) async throws -> Result {
        try await Self.catching {
            .fileReadFailed(name: filename, reason: $0)
        } _: {
            do {
                return try await body()
            } catch let error as LFSError where error.isMissing {
                throw FileStorageError.imageNotFound(name: filename, reason: .init(error))
            }
        }
    }

    private static func required<Value>(_ value: Value?, filename: String) throws -> Value {
        guard let value else {
            throw FileStorageError.imageNotFound(name: filename, reason: "another device has not uploaded it yet")
        }
        return value
    }
}

/// The bytes of a picture, with the errors of the journal.
struct PictureChunks: AsyncSequence, Sendable {
    let contents: FileContents
    let name: String

    func makeAsyncIterator() -> Iterator { Iterator(chunks: contents.makeAsyncIterator(), name: name) }

    struct Iterator: AsyncIteratorProtocol {
        var chunks: FileContents.Iterator
        let name: String

        mutating func next() async throws -> Data? {
            try await DatabaseStorageService.catching {
                .fileReadFailed(name: name, reason: $0)
            } _: {
                try await chunks.next()
            }
        }
    }
}
