import Foundation
import LFS

/// A mirror between a journal in a plain folder and a database with the same records, tags and pictures, so that an app
/// can work on the database while the folder is the journal.
///
/// ``take()`` brings the database up to date with the folder. After that, ``give()`` writes the changes of the database
/// into the folder. Only one of them may run at a time. Albums and deleted pictures that can be restored are in the
/// database only.
///
/// The database records what it has given to the folder, which must be the same one each time. A record, a picture or a
/// text that the folder was not given is a change of the database that a crash has kept from the folder. ``take()``
/// leaves it for ``give()``.
public actor FolderMirror {
    private let folder: LocalFileStorageService
    private let database: DatabaseStorageService
    /// The records that the folder has, as it was given them.
    private var known: [UUID: GivenRecord] = [:]
    private var knownTags: [Tag] = []

    /// Creates a mirror that has copied nothing yet.
    public init(_ folder: LocalFileStorageService, database: DatabaseStorageService) {
        self.folder = folder
        self.database = database
    }

    // MARK: From the folder

    /// Changes the database so that it has the changes of the folder. Records, pictures and tags that the folder was
    /// given and no longer has are deleted. If both have changed a record, it gets the texts of the folder and the
    /// pictures of both. The bytes of a picture whose name is known are not compared.
    ///
    /// - Returns: The report of what was copied, with the damaged items of the folder and the records that are damaged
    ///   in the database. All of them stay in the folder.
    /// - Throws: ``FileStorageError`` if one of both cannot be read or written.
    public func take() async throws -> JournalCopy.Report {
        var report = JournalCopy.Report()
        report.damaged = try await folder.damagedRecords()
        let given = try await database.loadGiven()
        report.tags = try await takeTags(given: given.tags)
        known = given.records
        let stored = try await entries()
        let records = try await folder.loadAllRecords()
        for record in records where stored[record.id]?.record != record {
            try Task.checkCancellation()
            do {
                try await take(record, stored: stored[record.id], report: &report)
            } catch let error as FileStorageError {
                guard case .decodingFailed(let name, _) = error else { throw error }
                report.damaged.append(DamagedRecord(name: name, reason: "\(error)"))
            }
        }
        var unreadable: Set<UUID> = []
        for id in Set(stored.keys).union(known.keys).subtracting(records.map(\.id)) {
            guard try await isMissing(id, in: folder) else {
                unreadable.insert(id)
                continue
            }
            if let entry = stored[id], known[id]?.entry == entry { try await database.deleteRecord(entry.record) }
            known[id] = nil
        }
        let current = try await entries()
        for record in records { known[record.id] = state(of: record, entry: current[record.id]) }
        try await saveKnown(since: given.records)
        // A damaged record of the folder is not replaced until the database has a change of it.
        for id in unreadable where known[id] == nil { known[id] = current[id].map { GivenRecord(entry: $0) } }
        return report
    }

    private func take(_ record: TimeRecord, stored: RecordEntry?, report: inout JournalCopy.Report) async throws {
        let given = known[record.id]
        // The record was deleted from the database, and give() deletes it from the folder.
        if stored == nil, given?.contains(record) == true, try await isMissing(record.id, in: database) { return }
        var merged = record
        if let given, let stored { merged = given.merging(record, into: stored.record) }
        let present = Set(stored?.record.images ?? [])
        let files: [String: FileData.ID] = stored == nil ? [:] : given?.entry?.files ?? [:]
        let added = record.images.filter { !present.contains($0) && files[$0] == nil }
        let removed = files.filter { name, file in stored?.files[name] == file && !record.images.contains(name) }
        if merged == stored?.record, added.isEmpty, removed.isEmpty { return }
        try await database.saveRecord(merged)
        // A record that was deleted from the database and then changed in the folder is a new one.
        if stored == nil { known[record.id] = nil }
        for name in added { try await report.copyPicture(name, of: record, from: folder, to: database) }
        for name in removed.keys { try await database.deleteImage(filename: name, for: record) }
        if !merged.images.isEmpty { try await database.updateRecord(merged) }
        report.records += 1
    }

    /// Returns the number of tags of the folder if they were copied. Tags that only the database has are placed after
    /// them, unless the folder was given them.
    private func takeTags(given: [Tag]) async throws -> Int {
        let tags = try await folder.loadTags()
        knownTags = tags
        if tags == given { return 0 }
        let stored = try await database.loadTags()
        let ids = Set((tags + given).map(\.id))
        let merged = tags + stored.filter { !ids.contains($0.id) }
        if merged != stored { try await database.saveTags(merged) }
        try await database.saveGiven(tags)
        return merged == stored ? 0 : tags.count
    }

    /// Returns the state of a record of the folder. A picture counts as given if both have its name.
    ///
    /// - Parameter entry: The record of the database. Without it, the state does not change.
    private func state(of record: TimeRecord, entry: RecordEntry?) -> GivenRecord? {
        let given = known[record.id]
        guard let entry else { return given }
        var record = record
        var files: [String: FileData.ID] = [:]
        for name in record.images { files[name] = given?.entry?.files[name] ?? entry.files[name] }
        record.images.removeAll { files[$0] == nil }
        return GivenRecord(entry: RecordEntry(record: record, files: files))
    }

    private func saveKnown(since earlier: [UUID: GivenRecord]) async throws {
        var changes: [UUID: GivenRecord?] = [:]
        for id in Set(known.keys).union(earlier.keys) where known[id] != earlier[id] {
            changes.updateValue(known[id], forKey: id)
        }
        try await database.saveGiven(changes)
    }

    /// Returns true if a journal has no record with an id. A damaged record is not missing.
    private func isMissing(_ id: UUID, in journal: any StreamingFileStorageService) async throws -> Bool {
        do {
            _ = try await journal.loadRecord(id)
            return false
        } catch FileStorageError.fileNotFound {
            return true
        } catch FileStorageError.decodingFailed {
            return false
        }
    }

    // MARK: To the folder

    /// Writes the changes of the database since the last call into the folder. Each change is complete on its own, so
    /// that a process that ends in between leaves a valid journal.
    ///
    /// - Throws: The first ``FileStorageError``, after all other changes are written. The next call tries again.
    public func give() async throws {
        let tags = try await database.loadTags()
        if tags != knownTags {
            try await folder.saveTags(tags)
            try await database.saveGiven(tags)
            knownTags = tags
        }
        let entries = try await entries()
        var failure: (any Error)?
        for (id, entry) in entries where known[id]?.entry != entry {
            try Task.checkCancellation()
            do {
                try await give(entry)
            } catch let error as FileStorageError {
                failure = failure ?? error
            }
        }
        for id in Set(known.keys).subtracting(entries.keys) {
            do {
                try await remove(id)
            } catch let error as FileStorageError {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    /// Writes a record and its pictures into the folder. A picture that cannot be written does not delay the others.
    private func give(_ entry: RecordEntry) async throws {
        let record = entry.record
        var given = known[record.id] ?? GivenRecord()
        given.pending = record
        try await save(given, for: record.id)
        try await folder.saveRecord(record)
        var files = given.entry?.files ?? [:]
        var failure: FileStorageError?
        for name in record.images {
            guard let file = entry.files[name], file != files[name] else { continue }
            do {
                let chunks = try await database.imageChunks(filename: name, for: record)
                try await folder.saveImage(from: chunks, for: record, filename: name)
                files[name] = file
            } catch let error as FileStorageError {
                failure = failure ?? error
            }
        }
        for name in files.keys where !record.images.contains(name) {
            do {
                try await folder.deleteImage(filename: name, for: record)
            } catch FileStorageError.imageNotFound {
                // An interrupted call has already deleted it.
            }
            files[name] = nil
        }
        // Its pictures are in the order of the database only now.
        if !record.images.isEmpty { try await folder.updateRecord(record) }
        var written = record
        written.images.removeAll { files[$0] == nil }
        try await save(GivenRecord(entry: RecordEntry(record: written, files: files)), for: record.id)
        if let failure { throw failure }
    }

    /// Deletes a record that the database no longer has. A record that is damaged in the database keeps its files.
    private func remove(_ id: UUID) async throws {
        guard try await isMissing(id, in: database) else { return }
        if let record = known[id]?.entry?.record ?? known[id]?.pending {
            do {
                try await folder.deleteRecord(record)
            } catch FileStorageError.fileNotFound {
                // An interrupted call has already deleted it.
            }
        }
        try await save(nil, for: id)
    }

    private func save(_ given: GivenRecord?, for id: UUID) async throws {
        try await database.saveGiven([id: given])
        known[id] = given
    }

    private func entries() async throws -> [UUID: RecordEntry] {
        let records = try await database.loadAllRecords()
        let images = try await database.storedImages(of: records)
        return Dictionary(
            records.map { record in
                let files = record.images.compactMap { name in images[name].map { (name, $0.file.id) } }
                return (record.id, RecordEntry(record: record, files: Dictionary(files) { first, _ in first }))
            }
        ) { first, _ in first }
    }
}
