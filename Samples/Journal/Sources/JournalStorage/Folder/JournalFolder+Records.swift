import Foundation

/// The place of a record's file. After an interrupted move it may be another month than that of the record's start.
struct RecordPlace {
    let month: JournalMonth
    let folder: Directory
}

extension JournalFolder {
    static func fileName(_ id: UUID) -> String { "\(id.text).json" }

    /// - Parameter start: A time in the month that is searched first.
    /// - Returns: The place, or nil if no month contains the record.
    func place(of id: UUID, near start: Date) throws -> RecordPlace? {
        let name = Self.fileName(id)
        let likely = JournalMonth(of: start)
        if let folder = try folder(likely, makes: false), folder.hasFile(name) {
            return RecordPlace(month: likely, folder: folder)
        }
        for month in try months() where month != likely {
            if let folder = try folder(month, makes: false), folder.hasFile(name) {
                return RecordPlace(month: month, folder: folder)
            }
        }
        return nil
    }

    func requiredPlace(of id: UUID, near start: Date) throws -> RecordPlace {
        guard let place = try place(of: id, near: start) else { throw FileStorageError.fileNotFound(name: id.text) }
        return place
    }

    /// - Throws: ``FileStorageError/decodingFailed(name:reason:)``, also for a record with another id, or for one that
    ///   could not have been saved.
    func record(_ id: UUID, at place: RecordPlace) throws -> TimeRecord {
        let file = Self.fileName(id)
        let name = "\(place.month)/\(file)"
        guard let data = try data(file, in: place.folder, shownAs: name) else {
            throw FileStorageError.fileNotFound(name: id.text)
        }
        let record = try Self.decoded(TimeRecord.self, data: data, name: name)
        guard record.id == id else {
            throw FileStorageError.decodingFailed(name: name, reason: "its id does not match its file name")
        }
        do {
            try record.requireStorable()
        } catch let FileStorageError.encodingFailed(_, reason) {
            throw FileStorageError.decodingFailed(name: name, reason: reason)
        }
        return record
    }

    /// Stores a record and its pictures in the month of its start.
    func store(_ record: TimeRecord, mustExist: Bool) throws {
        try record.requireStorable()
        let place = try place(of: record.id, near: record.start)
        if place == nil, mustExist { throw FileStorageError.fileNotFound(name: record.id.text) }
        var record = record
        let stored = try place.map { place in
            try self.record(record.id, at: place).images.filter(place.folder.hasFile)
        }
        record.images = record.arrangedImages(stored: stored ?? [])
        // Encode before any file is moved, since encoding may fail.
        let data = try Self.encoded(record, name: Self.fileName(record.id))
        let month = JournalMonth(of: record.start)
        let folder = try madeFolder(month)
        guard let place, place.month != month else {
            return try write(data, as: Self.fileName(record.id), in: folder, for: record.id.text)
        }
        try noting(record.id) {
            try move(record.id, images: record.images, from: place.folder, to: folder)
            try write(data, as: Self.fileName(record.id), in: folder, for: record.id.text)
            for name in record.images { try place.folder.remove(name) }
            try place.folder.sync()
        }
    }

    /// Moves a record and its pictures. One rename moves the record's file while its pictures are in both places, so
    /// that at any time a record and its pictures are in the same folder.
    private func move(_ id: UUID, images: [String], from old: Directory, to new: Directory) throws {
        for name in images {
            // An interrupted move may have left a file.
            try new.remove(name)
            if try !old.link(name, to: new) { try copy(name, from: old, to: new) }
        }
        try new.sync()
        try old.rename(Self.fileName(id), to: new, as: Self.fileName(id))
        try new.sync()
        try old.sync()
    }

    private func copy(_ name: String, from old: Directory, to new: Directory) throws {
        guard let source = try old.file(name) else { return }
        let copy = try TemporaryFile(in: try temporaryFolder(), for: "copy")
        do {
            var offset: Int64 = 0
            while case let chunk = try source.chunk(at: offset), !chunk.isEmpty {
                try copy.append(chunk)
                offset += Int64(chunk.count)
            }
            try copy.move(to: new, as: name)
        } catch {
            try copy.remove()
            throw error
        }
    }

    /// Deletes a record and its pictures, even if the record is damaged.
    func delete(_ id: UUID, near start: Date) throws {
        let place = try requiredPlace(of: id, near: start)
        try noting(id) {
            try place.folder.remove(Self.fileName(id))
            try place.folder.sync()
            try tidy(id)
        }
    }
}
