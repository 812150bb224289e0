import Foundation
import LFS

/// A mirror between a journal in a plain folder and a database with the same records, tags and pictures, so that an app
/// can work on the database while the folder is the journal.
///
/// ``take()`` brings the database up to date with the folder. After that, ``give()`` writes the changes of the database
/// into the folder. Only one of them may run at a time. Albums and deleted pictures that can be restored are in the
/// database only.
public actor FolderMirror {
    /// A record with the files of its pictures, which tell a replaced picture from the earlier one.
    private struct Entry: Hashable {
        let record: TimeRecord
        let files: [String: FileData.ID]
    }

    private let folder: LocalFileStorageService
    private let database: DatabaseStorageService
    /// The contents that both the folder and the database have.
    private var known: [UUID: Entry] = [:]
    private var knownTags: [Tag] = []

    /// Creates a mirror that has copied nothing yet.
    public init(_ folder: LocalFileStorageService, database: DatabaseStorageService) {
        self.folder = folder
        self.database = database
    }

    // MARK: From the folder

    /// Changes the database so that it has the records, tags and pictures of the folder. Records that only the database
    /// has are deleted. The bytes of a picture whose name is known are not compared.
    ///
    /// - Returns: The report of what was copied, with the damaged items of the folder. They stay in the folder.
    /// - Throws: ``FileStorageError`` if one of both cannot be read or written.
    public func take() async throws -> JournalCopy.Report {
        var report = JournalCopy.Report()
        report.damaged = try await folder.damagedRecords()
        let tags = try await folder.loadTags()
        if tags != (try await database.loadTags()) {
            try await database.saveTags(tags)
            report.tags = tags.count
        }
        let stored = Dictionary(try await database.loadAllRecords().map { ($0.id, $0) }) { first, _ in first }
        let records = try await folder.loadAllRecords()
        for record in records where stored[record.id] != record {
            try Task.checkCancellation()
            try await take(record, stored: stored[record.id], report: &report)
        }
        for id in Set(stored.keys).subtracting(records.map(\.id)) {
            guard let record = stored[id], try await isMissing(id) else { continue }
            try await database.deleteRecord(record)
        }
        known = try await entries()
        knownTags = tags
        return report
    }

    private func take(_ record: TimeRecord, stored: TimeRecord?, report: inout JournalCopy.Report) async throws {
        try await database.saveRecord(record)
        let present = Set(stored?.images ?? [])
        for name in record.images where !present.contains(name) {
            try await report.copyPicture(name, of: record, from: folder, to: database)
        }
        for name in present.subtracting(record.images) {
            try await database.deleteImage(filename: name, for: record)
        }
        if !record.images.isEmpty { try await database.updateRecord(record) }
        report.records += 1
    }

    /// Returns true if the folder has no record with an id. A damaged record is not missing.
    private func isMissing(_ id: UUID) async throws -> Bool {
        do {
            _ = try await folder.loadRecord(id)
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
            knownTags = tags
        }
        let entries = try await entries()
        var failure: (any Error)?
        for (id, entry) in entries where known[id] != entry {
            try Task.checkCancellation()
            do {
                try await give(entry, known: known[id])
                known[id] = entry
            } catch let error as FileStorageError {
                failure = failure ?? error
            }
        }
        for id in Set(known.keys).subtracting(entries.keys) {
            do {
                if let record = known[id]?.record { try await folder.deleteRecord(record) }
                known[id] = nil
            } catch FileStorageError.fileNotFound {
                known[id] = nil
            } catch let error as FileStorageError {
                failure = failure ?? error
            }
        }
        if let failure { throw failure }
    }

    private func give(_ entry: Entry, known: Entry?) async throws {
        let record = entry.record
        try await folder.saveRecord(record)
        for name in record.images where known?.files[name] != entry.files[name] {
            let chunks = try await database.imageChunks(filename: name, for: record)
            try await folder.saveImage(from: chunks, for: record, filename: name)
        }
        for name in known?.record.images ?? [] where entry.files[name] == nil {
            do {
                try await folder.deleteImage(filename: name, for: record)
            } catch FileStorageError.imageNotFound {
                // An interrupted call has already deleted it.
            }
        }
        // Its pictures are in the order of the database only now.
        if !record.images.isEmpty { try await folder.updateRecord(record) }
    }

    private func entries() async throws -> [UUID: Entry] {
        let records = try await database.loadAllRecords()
        let images = try await database.storedImages(of: records)
        return Dictionary(
            records.map { record in
                let files = record.images.compactMap { name in images[name].map { (name, $0.file.id) } }
                return (record.id, Entry(record: record, files: Dictionary(files) { first, _ in first }))
            }
        ) { first, _ in first }
    }
}
