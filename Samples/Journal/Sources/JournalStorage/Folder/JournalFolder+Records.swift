import Foundation

/// Where a record's file is, which need not be the month of its start: a move may have been cut off.
struct RecordPlace {
    let month: JournalMonth
    let folder: Directory
}

extension JournalFolder {
    static func fileName(_ id: UUID) -> String { "\(id.text).json" }

    /// - Parameter start: where to look first.
    /// - Returns: nil when no month has it.
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

    /// - Throws: ``FileStorageError/decodingFailed(name:reason:)``, also for the record of another id, or for one that
    ///   could not have been saved.
    func record(_ id: UUID, at place: RecordPlace) throws -> TimeRecord {
        let file = Self.fileName(id)
        let name = "\(place.month)/\(file)"
        guard let data = try data(file, in: place.folder, shownAs: name) else {
            throw FileStorageError.fileNotFound(name: id.text)
        }
        let record = try Self.decoded(TimeRecord.self, data, name)
        guard record.id == id else {
            throw FileStorageError.decodingFailed(name: name, reason: "the id in it is not the one of its name")
        }
        do {
            try record.requireStorable()
        } catch let FileStorageError.encodingFailed(_, reason) {
            throw FileStorageError.decodingFailed(name: name, reason: reason)
        }
        return record
    }

    /// Stores a record, with the pictures that it has, where its start says.
    func store(_ record: TimeRecord, mustExist: Bool) throws {
        try record.requireStorable()
        let place = try place(of: record.id, near: record.start)
        if place == nil, mustExist { throw FileStorageError.fileNotFound(name: record.id.text) }
        var record = record
        let stored = try place.map { place in
            try self.record(record.id, at: place).images.filter(place.folder.hasFile)
        }
        record.images = record.arrangedImages(stored: stored ?? [])
        // Before anything moves: it may not be possible at all.
        let data = try Self.encoded(record, Self.fileName(record.id))
        let month = JournalMonth(of: record.start)
        let folder = try madeFolder(month)
        guard let place, place.month != month else {
            return try write(data, as: Self.fileName(record.id), in: folder, for: record.id.text)
        }
        try noting(record.id) {
            try move(record.id, record.images, from: place.folder, to: folder)
            try write(data, as: Self.fileName(record.id), in: folder, for: record.id.text)
            for name in record.images { try place.folder.remove(name) }
            try place.folder.sync()
        }
    }

    /// The record's file moves by one rename, when its pictures are in both places: at any moment all are together.
    private func move(_ id: UUID, _ images: [String], from old: Directory, to new: Directory) throws {
        for name in images {
            // Left over by a move that was cut off.
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

    /// Deletes a record and what belongs to it, in whatever state it is.
    func delete(_ id: UUID, near start: Date) throws {
        let place = try requiredPlace(of: id, near: start)
        try noting(id) {
            try place.folder.remove(Self.fileName(id))
            try place.folder.sync()
            try tidy(id)
        }
    }
}
