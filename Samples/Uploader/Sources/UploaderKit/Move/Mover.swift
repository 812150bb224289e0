import Foundation
import GRDB
import LFS
import LFSBackup
import LFSStorage

/// The removal of originals whose bytes are on the storage and need not be on this device. It checks each object once
/// more. An original stays if anything has changed.
struct Mover: Sendable {
    let database: any DatabaseWriter
    let table: DocumentTable
    let lfs: LFSManager
    let storage: any RemoteStorage
    let report: Report
    /// The path of the database.
    let path: String
    /// The time before which a file must have been created to be read back. The confirmation of an earlier upload dates
    /// from its day, and a disk does not monitor its content. Nil if the read would use the network.
    let readsBackBefore: Date?

    /// The page size. It is small, so that little else can happen to the files between the note and the removal.
    private static let page = 100
    /// The number of concurrent requests.
    private static let parallel = 16

    /// Walks through the originals once more. Originals that were not attached or not uploaded stay. The run has
    /// already reported them.
    ///
    /// - Throws: the database's error. `CancellationError`.
    func run(_ source: FolderSource) async throws {
        guard let lock = try MoveLock(database: path) else {
            return report.failed(
                FilePath(path), reason: "another uploader is moving originals, so those of this run stay")
        }
        defer { lock.release() }
        var walk = try source.makeWalk()
        var page: [Asset] = []
        var linked = LinkedStamps()
        while let item = walk.next() {
            guard case .asset(let asset) = item else { continue }
            page.append(asset)
            if page.count < Self.page { continue }
            try await move(page, linked: &linked)
            page = []
        }
        try await move(page, linked: &linked)
    }

    private func move(_ assets: [Asset], linked: inout LinkedStamps) async throws {
        try Task.checkCancellation()
        if assets.isEmpty { return }
        let proven = try await proven(try await uploaded(assets, linked: linked))
        let time = Date()
        let originals = try await database.write { db in
            try proven.filter { try MovedTable.note($0.document.id, of: $0.file.id, at: time, db) }
        }
        var (gone, staying): ([Document.ID], [Document.ID]) = ([], [])
        var left = originals[...]
        while let attached = left.popFirst() {
            let document = attached.document
            // An interrupted run leaves a consistent state.
            if Task.isCancelled {
                staying += [document.id] + left.map(\.document.id)
                break
            }
            do {
                let original = Original(path: document.path, document: document.id)
                let file = attached.file
                // A touched original was read again later than this time, but no row has the later time. So the removal
                // reads it once more, because its stamp may hide a change within one tick of the file system.
                try original.remove(document.stamp, sha256: file.sha256, readAt: file.createdAt, linked: &linked)
                gone.append(document.id)
                report.moved(attached.file, path: document.path)
            } catch let error as UploaderError {
                staying.append(document.id)
                report.failed(document.path, reason: error.description)
            }
        }
        let (moved, kept) = (gone, staying)
        try await database.write { db in
            try MovedTable.finish(moved, db)
            for id in kept { try MovedTable.remove(id, db) }
        }
    }

    /// Completes the moves of an interrupted run. Each file either gets its name back or counts as moved. Those whose
    /// folder is missing wait for a run with the folder.
    ///
    /// - Throws: the database's error.
    func settleUnfinished() async throws {
        if try await database.read({ db in try MovedTable.unfinished(db) }).isEmpty { return }
        // A run in progress completes its own moves.
        guard let lock = try MoveLock(database: path) else { return }
        defer { lock.release() }
        let unfinished = try await database.read { db in try MovedTable.unfinished(db) }
        for page in unfinished.chunks(of: Self.page) {
            var (gone, there): ([Document.ID], [Document.ID]) = ([], [])
            for (id, path) in page {
                do {
                    switch try Original(path: path, document: id).giveBack() {
                    case true?: there.append(id)
                    case false?: gone.append(id)
                    case nil: break
                    }
                } catch let error as UploaderError {
                    report.message("\(path): \(error.description)")
                }
            }
            let (moved, kept) = (gone, there)
            try await database.write { db in
                try MovedTable.finish(moved, db)
                for id in kept { try MovedTable.remove(id, db) }
            }
        }
    }

    /// Returns the originals whose files are recorded as uploaded, and which are unchanged since they were read.
    private func uploaded(_ assets: [Asset], linked: LinkedStamps) async throws -> [AttachedDocument] {
        let (table, prefix) = (table, lfs.keyPrefix)
        return try await database.read { db in
            let known = try table.documents(at: assets.map { FilePath($0.id) }, ofKeys: prefix, db)
            let notes = try BackupHistory.notes(of: assets.map(\.id), db)
            let found = assets.compactMap { asset -> AttachedDocument? in
                guard case .success(var attached)? = known[FilePath(asset.id)], let note = notes[asset.id],
                    note.stamp == linked.asRead(asset.stamp.text), note.fileID == attached.file.id, !note.isDeclined,
                    attached.file.status == .remote
                else { return nil }
                // A touched file with the same bytes was read again, but its document still has the first stamp.
                attached.document.stamp = note.stamp
                return attached
            }
            let ids = found.map(\.file.id)
            let damaged = Set(
                try Upload.all().damaged().filter(ids.contains(Upload.Columns.fileID)).fetchAll(db).map(\.fileID))
            return found.filter { !damaged.contains($0.file.id) }
        }
    }

    /// Returns the files that the storage has. If a local copy still exists although it should be freed, there is a
    /// reason for it, and the original stays as well.
    private func proven(_ attached: [AttachedDocument]) async throws -> [AttachedDocument] {
        let inPlace = try await database.read { [ids = attached.map(\.file.id)] db in
            try DocumentTable.filesInPlace(ids, db)
        }
        return try await withThrowingTaskGroup(of: AttachedDocument?.self) { tasks in
            var proven: [AttachedDocument] = []
            for (index, attached) in attached.enumerated() {
                if index >= Self.parallel, let one = try await tasks.next(), let one { proven.append(one) }
                let isInPlace = inPlace.contains(attached.file.id)
                tasks.addTask { try await isProven(attached, isInPlace: isInPlace) ? attached : nil }
            }
            for try await one in tasks { if let one { proven.append(one) } }
            return try await readBack(proven, inPlace: inPlace).sorted { $0.document.id < $1.document.id }
        }
    }

    /// Returns the files whose objects still have the right bytes. Old objects are read back, and those of files
    /// without a local copy, whose originals are the only other place with the bytes.
    private func readBack(
        _ attached: [AttachedDocument], inPlace: Set<FileData.ID>
    ) async throws -> [AttachedDocument] {
        let old = attached.filter { attached in
            inPlace.contains(attached.file.id) || readsBackBefore.map { attached.file.createdAt < $0 } ?? false
        }
        if old.isEmpty { return attached }
        let readings = try await lfs.readBack(old.map(\.file.id))
        report.worked()
        var staying = Dictionary(old.map { ($0.file.id, "the storage has other bytes.") }, uniquingKeysWith: { $1 })
        for reading in readings {
            staying[reading.fileID] = reading.outcome == .right ? nil : reading.reason ?? staying[reading.fileID]
        }
        for attached in old {
            guard let reason = staying[attached.file.id] else { continue }
            report.failed(attached.document.path, reason: "its original stays: \(reason) Run 'verify --repair'.")
        }
        return attached.filter { staying[$0.file.id] == nil }
    }

    /// - Parameter isInPlace: true if the file was uploaded from its place, so that no local copy needs to be freed.
    private func isProven(_ attached: AttachedDocument, isInPlace: Bool) async throws -> Bool {
        let (file, path) = (attached.file, attached.document.path)
        if try await lfs.hasLocalCopy(of: file.id) {
            let isPinned = try await lfs.isPinned(file.id)
            if isPinned || !isInPlace {
                let reason = isPinned ? "it is pinned" : "the storage has not confirmed its bytes"
                report.failed(path, reason: "its original stays: \(reason)")
                return false
            }
        }
        do {
            let object = try await storage.head(try ObjectKey(file.key))
            if object.byteCount == file.byteCount { return true }
            report.failed(path, reason: "its original stays: the storage has other bytes. Run 'verify --repair'.")
        } catch let error as StorageError {
            try Task.checkCancellation()
            let advice = error.isMissing ? " Run 'verify --repair'." : ""
            report.failed(path, reason: "its original stays: \(ErrorMessages.sentence(error))\(advice)")
        }
        return false
    }
}
