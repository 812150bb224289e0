public import GRDB
public import LFS
import LFSSystem
import Synchronization

/// Backs up originals: those of included groups that are new or have changed get files, which are uploaded in the
/// background.
///
/// ```swift
/// let source = FolderSource([BackupGroup("/home/ada/Pictures", .include)])
/// let host = BackupHost { attachment, db in
///     try Photo(path: attachment.asset.id.description, fileId: attachment.file.id).insert(db)
/// }
/// let report = try await Backup(lfs, database, source, host).run()
/// ```
///
/// Equal bytes are uploaded once. What is on the device decides: the hash is that of the bytes that were taken in, and
/// one that the storage or this device disagrees with later is not believed; the original is read again then.
public struct Backup<Source: AssetSource>: Sendable {
    private let lfs: LFSManager
    private let database: any DatabaseWriter
    private let source: Source
    private let selection: BackupSelection?
    private let host: BackupHost
    private let options: BackupOptions

    /// A backup.
    ///
    /// - Parameters:
    ///   - lfs: the manager of the database. It need not run for originals to be taken in, only for the uploads.
    ///   - database: the one that the manager was opened with.
    ///   - source: where the originals are.
    ///   - groups: which of them; nil for all that the source gives.
    ///   - host: what the app does with them.
    ///   - options: delay, and whether what was deleted comes again.
    public init(
        _ lfs: LFSManager, _ database: any DatabaseWriter, _ source: Source, groups: [BackupGroup]? = nil,
        _ host: BackupHost, options: BackupOptions = BackupOptions()
    ) {
        (self.lfs, self.database, self.source) = (lfs, database, source)
        (self.selection, self.host, self.options) = (groups.map(BackupSelection.init), host, options)
    }

    /// Goes through all originals once. When it returns, every one that could be read is attached; the uploads go on.
    ///
    /// A batch of originals is read and attached in one transaction, so an end in between loses at most that work.
    /// - Parameter onEvent: is told what happens, from any thread.
    /// - Throws: ``BackupError/Code/groupAbsent``; when the place for the bytes or the database fails, so that going on
    ///   makes no sense, `LFSError` or the database's error; what a closure of the host throws; `CancellationError`.
    @discardableResult
    public func run(onEvent: @escaping @Sendable (BackupEvent) -> Void = { _ in }) async throws -> BackupReport {
        let report = Mutex(BackupReport())
        let attacher = Attacher(
            lfs: lfs, database: database, source: source, host: host, options: options,
            tell: { event in
                report.withLock { $0.add(event) }
                onEvent(event)
            })
        let walk = try await BlockingPool.shared.run { [source] _ in BatchedWalk(try source.makeWalk()) }
        var batch = try await look(next(of: walk))
        var names = try await following(batch.names, of: walk)
        // While a batch is told and read, the next one is looked up, and the names of the one after it are met. What
        // has to be read is looked up once more when its turn comes.
        while let next = names {
            try Task.checkCancellation()
            async let nextBatch = look(next)
            async let nextNames = following(next, of: walk)
            try await attach(batch, attacher)
            (batch, names) = try await (nextBatch, nextNames)
        }
        try await attach(batch, attacher)
        return report.withLock { $0 }
    }

    private struct LookedUp: Sendable {
        let names: AssetBatch
        let assets: UnchangedAssets
    }

    private func look(_ names: AssetBatch) async throws -> LookedUp {
        let assets = try await UnchangedAssets(among: names.assets, host, lost: options.damaged, in: database)
        return LookedUp(names: names, assets: assets)
    }

    /// Nil when there is nothing more.
    private func following(_ names: AssetBatch, of walk: BatchedWalk<Source.Walk>) async throws -> AssetBatch? {
        names.isLast ? nil : try await next(of: walk)
    }

    private func next(of walk: BatchedWalk<Source.Walk>) async throws -> AssetBatch {
        try await BlockingPool.shared.run { [selection] _ in walk.next(selection) }
    }

    private func attach(_ batch: LookedUp, _ attacher: Attacher<Source>) async throws {
        for item in batch.names.others { if let event = item.event { attacher.tell(event) } }
        let entries = batch.names.entries
        if !entries.isEmpty { try await host.entries?(entries) }
        try await attacher.attach(batch.assets)
    }
}

extension AssetItem {
    /// What is told of one that is no original to be read.
    fileprivate var event: BackupEvent? {
        switch self {
        case .asset(let asset): .found(asset)
        case .unreadable(let name, let reason): .unreadable(name, reason)
        case .passedOver(let name, let reason): .passedOver(name, reason)
        case .entry: nil
        }
    }
}
