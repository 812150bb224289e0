import Foundation
import GRDB
import LFS
import LFSBackup

/// The attachment of new and changed files. `LFSBackup` walks and reads. This type writes the documents and reports the
/// events.
struct Attacher: Sendable {
    let database: any DatabaseWriter
    let table: DocumentTable
    let lfs: LFSManager
    let report: Report
    /// The paths that this run itself writes to.
    let excluded: [String]
    /// Files whose local bytes no longer match the recorded ones.
    let damaged: Set<FileData.ID>
    /// The damaged files without any local bytes.
    let lost: Set<FileData.ID>
    let room: DiskRoom

    /// Returns a source with the originals of some groups.
    ///
    /// - Parameters:
    ///   - paths: the exact paths of groups whose ids cannot represent them.
    ///   - allowsChanging: true to read the initial bytes of a file that others are writing to.
    func source(
        _ groups: [BackupGroup], at paths: [BackupGroup.ID: AssetName] = [:], where filter: PathFilter = PathFilter(),
        allowsChanging: Bool
    ) -> FolderSource {
        FolderSource(
            groups, at: paths, excluding: excluded, where: filter, hasEntries: true, allowsChanging: allowsChanging)
    }

    /// Processes the originals. Returns when all readable files are attached.
    ///
    /// - Parameter failures: collects failures instead of the report if the source has only a part of the originals.
    ///   Nil if it has all of them.
    /// - Throws: an error of the local store or the database that makes it impossible to continue.
    func run(_ source: FolderSource, options: BackupOptions, failures: FailedOriginals? = nil) async throws {
        var options = options
        options.damaged = damaged
        options.reusesFiles = try await database.read(StorageMemory.doubt) == nil
        options.room = BackupSpace { [room] sizes, wasRefused in try await room.ask(sizes, wasRefused: wasRefused) }
        let emptied = EmptiedFolders(source)
        try await Backup(lfs, database: database, source: source, host: host, options: options).run { event in
            emptied.take(event)
            if failures?.take(event) != true { tell(event, roots: source.roots) }
        }
        // Missing originals can only be determined with a complete source.
        if failures == nil {
            failOwn(source.roots)
            try await emptied.tell(database, report: report)
            try await recorder.tellGone(below: source.roots.map { FilePath($0) })
        }
        report.walkEnded(isWhole: true)
    }

    /// Reports a failure if only paths were named that are never pushed. Next to other paths they are skipped, because
    /// a shell's `*` selects everything.
    private func failOwn(_ roots: [AssetName]) {
        let own = Set(excluded.compactMap { FilePath($0).real })
        let paths = roots.map { FilePath($0) }
        guard let first = paths.first, paths.allSatisfy({ $0.real.map(own.contains) == true }) else { return }
        report.failed(
            first,
            reason: "it is the storage or belongs to the database, so nothing was pushed. Name a folder with files")
    }

    private var recorder: EntryRecorder { EntryRecorder(database: database, report: report, room: room) }

    private var host: BackupHost {
        let (table, prefix, recorder, lost, lfs) = (table, lfs.keyPrefix, recorder, lost, lfs)
        return BackupHost { assets, db in
            let known = try table.documents(at: assets.map { FilePath($0.id) }, ofKeys: prefix, db)
            var records: [AssetName: BackupHost.Record] = [:]
            for asset in assets {
                switch known[FilePath(asset.id)] {
                case nil: break
                case .success(let document): records[asset.id] = .present(document.file.id)
                case .failure(let row): records[asset.id] = .unusable(row.reason)
                }
            }
            return records
        } fileIDs: { assets, db in
            let known = try table.fileIDs(at: assets.map { FilePath($0.id) }, db)
            return Dictionary(
                assets.compactMap { asset in known[FilePath(asset.id)].map { (asset.id, $0) } },
                uniquingKeysWith: { $1 })
        } touch: { asset, stamp, file, db in
            let path = FilePath(asset.id)
            try EntryTable.remove([path], db)
            guard case .success(let old)? = try table.documents(at: [path], ofKeys: prefix, db)[path],
                old.file.id == file.id
            else { return }
            var document = old.document
            document.stamp = stamp.text
            try document.update(db)
            // The original exists again, whatever happened to it before.
            try MovedTable.remove(document.id, db)
            try EntryTable.noteChange(db)
        } entries: { entries in
            try await recorder.record(entries.map(Entry.init))
        } insert: { attachment, db in
            let path = FilePath(attachment.asset.id)
            let hasRecord = attachment.record != nil
            let old = hasRecord ? try table.documents(at: [path], ofKeys: prefix, db)[path]?.get() : nil
            try EntryTable.remove([path], db)
            // A pin applies to the file at this path, so the new version inherits it.
            if let old { try lfs.pin(attachment.file.id, like: old.file.id, in: db) }
            let isLost = old.map { old in
                lost.contains(old.file.id) || attachment.replacedIsLost && attachment.replaced?.id == old.file.id
            }
            try Self.attach(attachment, at: Date(), in: old, isLost: isLost ?? false, db)
        }
    }

    /// Inserts a document, or assigns the new file to an existing one. The old file becomes an old version, or is
    /// deleted once the new one is on the storage.
    ///
    /// - Parameter isLost: true if the bytes of the old file no longer match the recorded ones.
    private static func attach(
        _ attachment: BackupAttachment, at time: Date, in old: AttachedDocument?, isLost: Bool, _ db: Database
    ) throws {
        let title = FilePath(attachment.asset.title)
        // A lost or damaged file is attached again with the same bytes. They are as old as before.
        let same = old.flatMap { old in
            old.file.sha256 == attachment.file.sha256 && old.file.byteCount == attachment.file.byteCount ? old : nil
        }
        let document = Document(
            id: old?.document.id ?? DocumentID.make(at: time), path: FilePath(attachment.asset.id),
            title: title.text ?? Printable.text(title.exact), addedAt: same?.document.addedAt ?? time,
            fileId: attachment.file.id, stamp: attachment.stamp.text)
        guard let old else { return try document.insertRow(db) }
        try document.update(db)
        try MovedTable.remove(document.id, db)
        guard old.file.id != attachment.file.id else { return }
        try VersionTable.replace(old, isVersion: !isLost && same == nil, at: time, db)
    }

    @Sendable private func tell(_ event: BackupEvent, roots: [AssetName]) {
        switch event {
        case .passedOver(let name, _) where SpecialFile.isOne(FilePath(name), isNamed: roots.contains(name)):
            if roots.contains(name) {
                report.failed(FilePath(name), reason: SpecialFile.reason)
            } else {
                report.special(FilePath(name), reason: SpecialFile.reason)
            }
        case .read(let bytes): report.read(bytes)
        case .found(let asset): report.found(asset.stamp.byteCount ?? 0)
        case .unchanged(let asset): report.unchanged(FilePath(asset.id))
        case .touched(let asset): report.touched(FilePath(asset.id))
        case .declined(let asset): report.passedOver(FilePath(asset.id), reason: "it was removed on purpose")
        case .attached(let asset, let file, let isShared):
            report.attached(file, path: FilePath(asset.id), isUploaded: !isShared)
        case .restored(let asset, let file): report.restored(file, path: FilePath(asset.id))
        case .passedOver(let name, let reason): report.passedOver(FilePath(name), reason: reason)
        case .unreadable(let name, let reason): report.unreadable(FilePath(name), reason: reason)
        case .failed(let name, let reason): report.failed(FilePath(name), reason: ErrorMessages.forShell(reason))
        case .left(let name, let reason):
            let message = Printable.text(ErrorMessages.forShell(reason))
            report.message("\(FilePath(name)): its unused copy stays until the next run: \(message)")
        }
    }
}

extension FilePath {
    init(_ name: AssetName) { self.init(bytes: name.bytes) }
}
