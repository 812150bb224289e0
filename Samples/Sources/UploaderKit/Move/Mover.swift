import Foundation
import GRDB
import LFS
import LFSBackup
import LFSStorage

/// Removes originals whose bytes are on the storage and need not be here: each is asked for there once more, and stays
/// when anything is not as it was.
struct Mover: Sendable {
    let database: any DatabaseWriter
    let table: DocumentTable
    let lfs: LFSManager
    let storage: any RemoteStorage
    let report: Report
    /// The database's file.
    let path: String
    /// Objects of files that were made before are read to their end first: their proof is that of the day on which they
    /// were uploaded, and a disk keeps no watch over what is on it. Nil where that would take the network.
    let readsBackBefore: Date?

    /// So few that nothing else happens to them between the note and the end.
    private static let page = 100
    /// How many objects are asked for beside each other.
    private static let parallel = 16

    /// Goes through the originals once more. What was not attached, or whose upload failed, stays; the run has told it.
    ///
    /// - Throws: the database's error; `CancellationError`.
    func run(_ source: FolderSource) async throws {
        guard let lock = try MoveLock(database: path) else {
            return report.failed(FilePath(path), "another uploader moves originals, and those of this run stay")
        }
        defer { lock.release() }
        var walk = try source.makeWalk()
        var page: [Asset] = []
        var linked = LinkedStamps()
        while let item = walk.next() {
            guard case .asset(let asset) = item else { continue }
            page.append(asset)
            if page.count < Self.page { continue }
            try await move(page, &linked)
            page = []
        }
        try await move(page, &linked)
    }

    private func move(_ assets: [Asset], _ linked: inout LinkedStamps) async throws {
        try Task.checkCancellation()
        if assets.isEmpty { return }
        let proven = try await proven(try await uploaded(assets, linked))
        let time = Date()
        let originals = try await database.write { db in
            try proven.filter { try MovedTable.note($0.document.id, of: $0.file.id, at: time, db) }
        }
        var (gone, staying): ([Document.ID], [Document.ID]) = ([], [])
        var left = originals[...]
        while let attached = left.popFirst() {
            let document = attached.document
            // Whoever ends it now finds all of them in order.
            if Task.isCancelled {
                staying += [document.id] + left.map(\.document.id)
                break
            }
            do {
                try Original(path: document.path, document: document.id).remove(document.stamp, &linked)
                gone.append(document.id)
                report.moved(attached.file, document.path)
            } catch let error as UploaderError {
                staying.append(document.id)
                report.failed(document.path, error.description)
            }
        }
        let (moved, kept) = (gone, staying)
        try await database.write { db in
            try MovedTable.finish(moved, at: time, db)
            for id in kept { try MovedTable.remove(id, db) }
        }
    }

    /// Puts in order what a run has left that ended in the middle: a file has its name, or is moved.
    ///
    /// - Throws: the database's error.
    func settleUnfinished() async throws {
        if try await database.read({ db in try MovedTable.unfinished(db) }).isEmpty { return }
        // Those of a run that is under way are its own.
        guard let lock = try MoveLock(database: path) else { return }
        defer { lock.release() }
        let unfinished = try await database.read { db in try MovedTable.unfinished(db) }
        for page in unfinished.chunks(of: Self.page) {
            var (gone, there): ([Document.ID], [Document.ID]) = ([], [])
            for (id, path) in page {
                do {
                    if try Original(path: path, document: id).giveBack() { there.append(id) } else { gone.append(id) }
                } catch let error as UploaderError {
                    report.message("\(path): \(error.description)")
                }
            }
            let (moved, kept) = (gone, there)
            try await database.write { db in
                try MovedTable.finish(moved, at: Date(), db)
                for id in kept { try MovedTable.remove(id, db) }
            }
        }
    }

    /// Those whose files are said to be on the storage, and are as they were read.
    private func uploaded(_ assets: [Asset], _ linked: LinkedStamps) async throws -> [AttachedDocument] {
        let (table, prefix) = (table, lfs.keyPrefix)
        return try await database.read { db in
            let known = try table.documents(at: assets.map { FilePath($0.id) }, ofKeys: prefix, db)
            let notes = try BackupNotes.notes(of: assets.map(\.id), db)
            let found = assets.compactMap { asset -> AttachedDocument? in
                guard case .success(var attached)? = known[FilePath(asset.id)], let note = notes[asset.id],
                    note.stamp == linked.asRead(asset.stamp.text), note.fileID == attached.file.id, !note.isDeclined,
                    attached.file.status == .remote
                else { return nil }
                // One that was touched and has the same bytes was read again, and its document tells of the first time.
                attached.document.stamp = note.stamp
                return attached
            }
            let ids = found.map(\.file.id)
            let damaged = Set(
                try Upload.all().damaged().filter(ids.contains(Upload.Columns.fileID)).fetchAll(db).map(\.fileID))
            return found.filter { !damaged.contains($0.file.id) }
        }
    }

    /// Those that the storage has. Local copies that were to go and are here still have a reason to stay, and so have
    /// their originals.
    private func proven(_ attached: [AttachedDocument]) async throws -> [AttachedDocument] {
        try await withThrowingTaskGroup(of: AttachedDocument?.self) { tasks in
            var proven: [AttachedDocument] = []
            for (index, attached) in attached.enumerated() {
                if index >= Self.parallel, let one = try await tasks.next(), let one { proven.append(one) }
                tasks.addTask { try await isProven(attached) ? attached : nil }
            }
            for try await one in tasks { if let one { proven.append(one) } }
            return try await readBack(proven).sorted { $0.document.id < $1.document.id }
        }
    }

    /// Those whose objects have their bytes still, as far as that is looked at.
    private func readBack(_ attached: [AttachedDocument]) async throws -> [AttachedDocument] {
        let old = attached.filter { attached in readsBackBefore.map { attached.file.createdAt < $0 } ?? false }
        if old.isEmpty { return attached }
        let readings = try await lfs.readBack(old.map(\.file.id))
        report.worked()
        var staying = Dictionary(old.map { ($0.file.id, "the storage has other bytes.") }, uniquingKeysWith: { $1 })
        for reading in readings {
            staying[reading.fileID] = reading.outcome == .right ? nil : reading.reason ?? staying[reading.fileID]
        }
        for attached in old {
            guard let reason = staying[attached.file.id] else { continue }
            report.failed(attached.document.path, "its original stays: \(reason) Run 'verify --repair'.")
        }
        return attached.filter { staying[$0.file.id] == nil }
    }

    private func isProven(_ attached: AttachedDocument) async throws -> Bool {
        let (file, path) = (attached.file, attached.document.path)
        if try await lfs.hasLocalCopy(of: file.id) {
            let isPinned = try await lfs.isPinned(file.id)
            let reason = isPinned ? "it is pinned" : "the storage does not vouch for its bytes"
            report.failed(path, "its original stays: \(reason)")
            return false
        }
        do {
            let object = try await storage.head(try ObjectKey(file.key))
            if object.byteCount == file.byteCount { return true }
            report.failed(path, "its original stays: the storage has other bytes. Run 'verify --repair'.")
        } catch let error as StorageError {
            try Task.checkCancellation()
            let advice = error.isMissing ? " Run 'verify --repair'." : ""
            report.failed(path, "its original stays: \(Words.sentence(error))\(advice)")
        }
        return false
    }
}
