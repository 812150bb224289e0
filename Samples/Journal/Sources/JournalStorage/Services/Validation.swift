import Foundation

extension TimeRecord {
    /// What both implementations refuse alike, before anything is written.
    ///
    /// - Throws: ``FileStorageError/encodingFailed(name:reason:)``.
    func requireStorable() throws {
        if start.storableMilliseconds == nil { throw refused("its start is in no year from 1 to 9999") }
        if let end {
            if end.storableMilliseconds == nil { throw refused("its end is in no year from 1 to 9999") }
            if end < start { throw refused("it ends before it starts") }
        }
        if comment.hasNull || timeZone.hasNull { throw refused("a text of it has the character U+0000") }
        if Set(tags).count < tags.count { throw refused("it has the same tag twice") }
        if Set(images).count < images.count { throw refused("it names the same picture twice") }
        if let name = images.first(where: { ImageName($0, of: id) == nil }) {
            throw refused("'\(name.shown)' is no name of a picture of it")
        }
    }

    private func refused(_ reason: String) -> FileStorageError {
        .encodingFailed(name: "record \(id.text)", reason: reason)
    }

    /// Its pictures once it is saved.
    ///
    /// - Parameter stored: the pictures that the storage has of it.
    func arrangedImages(stored: [String]) -> [String] {
        let kept = images.filter(Set(stored).contains)
        return kept + stored.filter { !Set(kept).contains($0) }
    }
}

extension [Tag] {
    /// - Throws: ``FileStorageError/encodingFailed(name:reason:)``.
    func requireStorable() throws {
        if Set(map(\.id)).count < count {
            throw FileStorageError.encodingFailed(name: "The list of tags", reason: "one tag is in it twice")
        }
        if contains(where: { $0.name.hasNull || $0.color?.hasNull == true }) {
            throw FileStorageError.encodingFailed(
                name: "The list of tags", reason: "a text in it has the character U+0000")
        }
    }
}

extension String {
    /// A text in SQLite ends there for many who read it.
    var hasNull: Bool { utf8.contains(0) }
}

extension FileStorageError {
    static func badImageName(writing name: String) -> FileStorageError {
        .imageWriteFailed(name: name, reason: "that is no name of a picture of this record")
    }

    static func badImageName(reading name: String) -> FileStorageError {
        .imageNotFound(name: name, reason: "that is no name of a picture of this record")
    }

    static func noBytes(_ name: String) -> FileStorageError {
        .imageNotFound(name: name, reason: "the record has none of that name")
    }
}
