import Foundation

/// All records of a folder, and the files that could not be read as records.
struct FolderContents: Sendable {
    var records: [TimeRecord] = []
    var damaged: [DamagedRecord] = []
}

extension LocalFileStorageService {
    // MARK: Reading

    /// Reads every record. Files with other names are ignored.
    func readAll() throws -> FolderContents {
        var contents = FolderContents()
        var seen: [UUID: JournalMonth] = [:]
        for month in try months() {
            guard let folder = try folder(month) else { continue }
            for id in try folder.names().sorted().compactMap(Self.recordID) {
                let name = "\(month)/\(Self.fileName(id))"
                if let other = seen.updateValue(month, forKey: id) {
                    contents.damaged.append(DamagedRecord(name: name, reason: "It is also in \(other)."))
                    continue
                }
                do {
                    contents.records.append(try record(id, at: RecordPlace(month: month, folder: folder)))
                } catch let error as FileStorageError {
                    // A record that has just been deleted is not damaged.
                    if case .fileNotFound = error { continue }
                    contents.damaged.append(DamagedRecord(name: name, reason: "\(error)"))
                }
            }
        }
        contents.records.sort(by: isBefore)
        return contents
    }

    private static func recordID(_ name: String) -> UUID? {
        name.hasSuffix(".json") ? UUID(text: String(name.dropLast(5))) : nil
    }

    /// Returns the missing pictures that records list, and the pictures that no record lists.
    func pictureFindings(_ records: [TimeRecord]) throws -> [DamagedRecord] {
        let named = Dictionary(records.map { ($0.id, Set($0.images)) }) { one, _ in one }
        var missing = Set(records.flatMap(\.images))
        var findings: [DamagedRecord] = []
        for month in try months() {
            guard let folder = try folder(month) else { continue }
            for name in try folder.names().sorted() {
                guard let image = ImageName(name) else { continue }
                // Pictures of a damaged record are not reported.
                if folder.hasFile(Self.fileName(image.recordID)), named[image.recordID]?.contains(name) ?? true {
                    missing.remove(name)
                } else {
                    findings.append(DamagedRecord(name: "\(month)/\(name)", reason: "No record has this picture."))
                }
            }
        }
        let reason = "A record has this picture, but its file is missing."
        return findings + missing.sorted().map { DamagedRecord(name: $0, reason: reason) }
    }

    // MARK: Writing

    /// Stores a record and its pictures in the month of its start.
    func store(_ record: TimeRecord, mustExist: Bool) throws {
        try record.requireStorable()
        let file = Self.fileName(record.id)
        try change(file) {
            let place = try place(of: record.id, near: record.start)
            if place == nil, mustExist { throw FileStorageError.fileNotFound(name: record.id.text) }
            let stored = try place.map { place in
                try self.record(record.id, at: place).images.filter(place.folder.hasFile)
            }
            var record = record
            record.images = record.arrangedImages(stored: stored ?? [])
            // Encode before any file is moved, since encoding may fail.
            let data = try JournalJSON.encoded(record, name: file)
            let month = JournalMonth(of: record.start)
            let folder = try month.folders.reduce(try madeBase()) { try $0.makeFolder($1) }
            guard let place, place.month != month else {
                return try write(data, as: file, in: folder, for: record.id.text)
            }
            try noting(record.id) {
                try move(record.id, images: record.images, from: place.folder, to: folder)
                try write(data, as: file, in: folder, for: record.id.text)
                for name in record.images { try place.folder.remove(name) }
                try place.folder.sync()
            }
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
        try withTemporaryFile(for: "copy") { copy in
            var offset: Int64 = 0
            while case let chunk = try source.chunk(at: offset), !chunk.isEmpty {
                try copy.append(chunk)
                offset += Int64(chunk.count)
            }
            try copy.move(to: new, as: name)
        }
    }

    // MARK: Leftovers

    static let temporary = ".temporary"

    /// Performs a change of several steps. A note in the temporary folder contains the record's id until the last step
    /// is complete, so that ``removeLeftovers()`` can find the files of an interrupted change.
    func noting(_ id: UUID, _ body: () throws -> Void) throws {
        let note = try TemporaryFile(in: try temporaryFolder(), for: id.text)
        do {
            try body()
        } catch {
            // If tidying fails as well, the note is kept, and the next opening tidies the record.
            if (try? tidy(id)) != nil { try note.remove() }
            throw error
        }
        try note.remove()
    }

    /// Removes the leftovers of killed processes: temporary files without a writer, and the unlisted pictures of the
    /// records that their names contain. A file that is being written is locked and is kept.
    func removeLeftovers() throws {
        do {
            guard let temporary = try base()?.folder(Self.temporary) else { return }
            for name in try temporary.names() {
                guard let purpose = TemporaryFile.purpose(of: name), let file = try temporary.file(name),
                    try file.tryLock()
                else { continue }
                if let id = UUID(text: purpose) { try tidy(id) }
                try temporary.remove(name)
            }
        } catch let error as SystemFailure {
            throw FileStorageError.fileWriteFailed(name: Self.temporary, reason: .init(error))
        }
    }

    /// Removes the pictures of a record that the record does not list, and those in other months than the record. The
    /// pictures of a damaged record are kept, since its list cannot be read.
    func tidy(_ id: UUID) throws {
        let place = try place(of: id, near: .distantPast)
        var named: Set<String> = []
        do {
            if let place { named = Set(try record(id, at: place).images) }
        } catch FileStorageError.decodingFailed {
            return
        }
        for month in try months() {
            guard let folder = try folder(month) else { continue }
            let isHome = month == place?.month
            let extra = try folder.names().filter {
                ImageName($0, of: id) != nil && !(isHome && named.contains($0)) && folder.hasFile($0)
            }
            for name in extra { try folder.remove(name) }
            if !extra.isEmpty { try folder.sync() }
        }
    }
}
