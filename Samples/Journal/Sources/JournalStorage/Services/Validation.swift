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
    static func badImageName(writing name: String) -> FileStorageError {
        .imageWriteFailed(name: name, reason: "this name is not valid for a picture of the record")
    }

    static func badImageName(reading name: String) -> FileStorageError {
        .imageNotFound(name: name, reason: "this name is not valid for a picture of the record")
    }

    static func noBytes(_ name: String) -> FileStorageError {
        .imageNotFound(name: name, reason: "the record has no picture with this name")
    }
}
