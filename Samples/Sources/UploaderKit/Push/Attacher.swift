import Foundation
import GRDB
import LFS
import LFSBackup

/// Attaches what is new or changed: `LFSBackup` walks and reads, and here are the documents and what is told.
struct Attacher: Sendable {
    let database: any DatabaseWriter
    let table: DocumentTable
    let lfs: LFSManager
    let report: Report
    /// What this run writes to itself.
    let excluded: [String]
    /// Files whose local bytes are not the recorded ones any more.
    let damaged: Set<FileData.ID>
    /// Those of them that have no bytes here.
    let lost: Set<FileData.ID>
    let room: DiskRoom

    /// The originals of some groups.
    ///
    /// - Parameters:
    ///   - paths: those of groups whose ids cannot say them.
    ///   - allowsChanging: whether what a file had at the start is taken, where others write to it meanwhile.
    func source(
        _ groups: [BackupGroup], at paths: [BackupGroup.ID: AssetName] = [:], where filter: PathFilter = PathFilter(),
        allowsChanging: Bool
    ) -> FolderSource {
        FolderSource(
            groups, at: paths, excluding: excluded, where: filter, hasEntries: true, allowsChanging: allowsChanging)
    }

    /// Works through the originals. Returns when every file that could be read is attached.
    ///
    /// - Parameter failures: takes those that failed, in place of the report, where the source has a part of the
    ///   originals; nil where it has all.
    /// - Throws: when the place for the bytes or the database fails, so that going on makes no sense.
    func run(_ source: FolderSource, _ options: BackupOptions, failures: FailedOriginals? = nil) async throws {
        var options = options
        options.damaged = damaged
        options.reusesFiles = try await database.read(StorageMemory.doubt) == nil
        options.room = BackupRoom { [room] sizes, wasRefused in try await room.ask(sizes, wasRefused: wasRefused) }
        let emptied = EmptiedFolders(source)
        try await Backup(lfs, database, source, host, options: options).run { event in
            emptied.take(event)
            if failures?.take(event) != true { tell(event, source.roots) }
        }
        // Of a part of the originals nothing is gone.
        if failures == nil {
            failOwn(source.roots)
            try await emptied.tell(database, report)
            try await recorder.tellGone(below: source.roots.map { FilePath($0) })
        }
        report.walkEnded(isWhole: true)
    }

    /// Tells where nothing was named but what is never pushed. Beside others it is passed over: a shell's `*` names
    /// all.
    private func failOwn(_ roots: [AssetName]) {
        let own = Set(excluded.compactMap { FilePath($0).real })
        let paths = roots.map { FilePath($0) }
        guard let first = paths.first, paths.allSatisfy({ $0.real.map(own.contains) == true }) else { return }
        report.failed(
            first, "it is the storage or belongs to the database, so nothing was pushed. Name a folder with files")
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
            // It is here again, wherever it has been.
            try MovedTable.remove(document.id, db)
            try EntryTable.noteChange(db)
        } entries: { entries in
            try await recorder.record(entries.map(Entry.init))
        } insert: { attachment, db in
            let path = FilePath(attachment.asset.id)
            let old = try table.documents(at: [path], ofKeys: prefix, db)[path]?.get()
            try EntryTable.remove([path], db)
            // Who pinned it wanted the file at its path.
            if let old { try lfs.pin(attachment.file.id, like: old.file.id, in: db) }
            try Self.attach(
                attachment, at: Date(), in: old, isLost: old.map { lost.contains($0.file.id) } ?? false, db)
        }
    }

    /// A document that is there gets its new file. The old one is a version of it from now on, or goes once the new one
    /// is on the storage.
    ///
    /// - Parameter isLost: whether the bytes of the old one are not the recorded ones any more.
    private static func attach(
        _ attachment: BackupAttachment, at time: Date, in old: AttachedDocument?, isLost: Bool, _ db: Database
    ) throws {
        let title = FilePath(attachment.asset.title)
        let document = Document(
            id: old?.document.id ?? DocumentID.make(at: time), path: FilePath(attachment.asset.id),
            title: title.text ?? Printable.text(title.exact), addedAt: time, fileId: attachment.file.id,
            stamp: attachment.stamp.text)
        guard let old else { return try document.insert(db) }
        try document.update(db)
        try MovedTable.remove(document.id, db)
        guard old.file.id != attachment.file.id else { return }
        let isSame = old.file.sha256 == attachment.file.sha256 && old.file.byteCount == attachment.file.byteCount
        try VersionTable.replace(old, isVersion: !isLost && !isSame, at: time, db)
    }

    @Sendable private func tell(_ event: BackupEvent, _ roots: [AssetName]) {
        switch event {
        case .passedOver(let name, _) where SpecialFile.isOne(FilePath(name), isNamed: roots.contains(name)):
            if roots.contains(name) {
                report.failed(FilePath(name), SpecialFile.reason)
            } else {
                report.special(FilePath(name), SpecialFile.reason)
            }
        case .read(let bytes): report.read(bytes)
        case .found(let asset): report.found(asset.stamp.byteCount ?? 0)
        case .unchanged(let asset): report.unchanged(FilePath(asset.id))
        case .touched(let asset): report.touched(FilePath(asset.id))
        case .declined(let asset): report.passedOver(FilePath(asset.id), "it was removed on purpose")
        case .attached(let asset, let file, let isShared):
            report.attached(file, FilePath(asset.id), isUploaded: !isShared)
        case .restored(let asset, let file): report.restored(file, FilePath(asset.id))
        case .passedOver(let name, let reason): report.passedOver(FilePath(name), reason)
        case .unreadable(let name, let reason): report.unreadable(FilePath(name), reason)
        case .failed(let name, let reason): report.failed(FilePath(name), Words.forShell(reason))
        case .left(let name, let reason):
            report.message(
                "\(FilePath(name)): its copy stays until the next run: \(Printable.text(Words.forShell(reason)))")
        }
    }
}

extension FilePath {
    init(_ name: AssetName) { self.init(bytes: name.bytes) }
}
