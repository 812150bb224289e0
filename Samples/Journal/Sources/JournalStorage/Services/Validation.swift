import Foundation

extension TimeRecord {
    /// Checks the rules of both implementations before anything is written.
    ///
    /// - Throws: ``FileStorageError/encodingFailed(name:reason:)``.
    func requireStorable() throws {
        if start.storableMilliseconds == nil { throw refused("its start is not in the years 1 to 9999") }
        if let end {
            if end.storableMilliseconds == nil { throw refused("its end is not in the years 1 to 9999") }
            if end < start { throw refused("it ends before it starts") }
        }
        if comment.hasNull || timeZone.hasNull { throw refused("one of its texts has the character U+0000") }
        if Set(tags).count < tags.count { throw refused("it has the same tag twice") }
        if Set(images).count < images.count { throw refused("it names the same picture twice") }
        if let name = images.first(where: { ImageName($0, of: id) == nil }) {
            throw refused("'\(name.shown)' is not the name of one of its pictures")
        }
    }

    private func refused(_ reason: FileStorageError.Reason) -> FileStorageError {
        .encodingFailed(name: "record \(id.text)", reason: reason)
    }

    /// Returns the record's pictures after it has been saved.
    ///
    /// - Parameter stored: The pictures of the record in the storage.
    func arrangedImages(stored: [String]) -> [String] {
        let kept = images.filter(Set(stored).contains)
        return kept + stored.filter { !Set(kept).contains($0) }
    }
}

extension [Tag] {
    /// - Throws: ``FileStorageError/encodingFailed(name:reason:)``.
    func requireStorable() throws {
        if Set(map(\.id)).count < count {
            throw FileStorageError.encodingFailed(name: "The list of tags", reason: "it has the same tag twice")
        }
        if contains(where: { $0.name.hasNull || $0.color?.hasNull == true }) {
            throw FileStorageError.encodingFailed(
                name: "The list of tags", reason: "one of its texts has the character U+0000")
        }
    }
}

extension String {
    /// Indicates a null character, at which many programs end a text from SQLite.
    var hasNull: Bool { utf8.contains(0) }
}

extension FileStorageError {
    static func noBytes(_ name: String) -> FileStorageError {
        .imageNotFound(name: name, reason: "the record has no picture with this name")
    }
}

extension ImageName {
    private static let badName: FileStorageError.Reason = "this name is not valid for a picture of the record"

    /// - Throws: ``FileStorageError/imageNotFound(name:reason:)`` for any text but the name of a picture of the record.
    init(reading text: String, of record: TimeRecord) throws {
        guard let name = ImageName(text, of: record.id) else {
            throw FileStorageError.imageNotFound(name: text, reason: Self.badName)
        }
        self = name
    }

    /// - Throws: ``FileStorageError/imageWriteFailed(name:reason:)`` as for ``init(reading:of:)``.
    init(writing text: String, of record: TimeRecord) throws {
        guard let name = ImageName(text, of: record.id) else {
            throw FileStorageError.imageWriteFailed(name: text, reason: Self.badName)
        }
        self = name
    }

    /// Creates the name of a new picture.
    ///
    /// - Throws: ``FileStorageError/imageWriteFailed(name:reason:)``.
    init(new index: Int, of record: TimeRecord, fileExtension: String) throws {
        guard let name = ImageName(recordID: record.id, index: index, fileExtension: fileExtension) else {
            throw FileStorageError.imageWriteFailed(
                name: "\(record.id.text)_\(index).\(fileExtension)",
                reason: index == 0
                    ? "its name does not have the extension of a picture, such as jpg"
                    : "the record has had too many pictures")
        }
        self = name
    }
}
