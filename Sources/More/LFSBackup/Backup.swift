public import GRDB
public import LFS
import LFSSystem
import Synchronization

/// A backup of originals. New and changed originals of included groups get files, which are uploaded in the background.
///
/// ```swift
/// let source = FolderSource([BackupGroup("/home/ada/Pictures", .include)])
/// let host = BackupHost { attachment, db in
///     try Photo(path: attachment.asset.id.description, fileId: attachment.file.id).insert(db)
/// }
/// let report = try await Backup(lfs, database, source, host).run()
/// ```
///
/// Equal bytes are uploaded once. The original on the device is authoritative. The recorded hash is that of the bytes
/// that were read. If the storage or the local copy later disagrees with it, the original is read again.
public struct Backup<Source: AssetSource>: Sendable {
    private let lfs: LFSManager
    private let database: any DatabaseWriter
    private let source: Source
    private let selection: BackupSelection?
    private let host: BackupHost
    private let options: BackupOptions

    /// Creates a backup.
    ///
    /// - Parameters:
    ///   - lfs: the manager of the database. It must run for uploads, but not for reading originals.
    ///   - database: the database that the manager was opened with.
    ///   - source: the source of the originals.
    ///   - groups: the groups to back up. Nil backs up everything in the source.
    ///   - host: the app's closures, such as the one that inserts records.
    ///   - options: the options, such as the delay of uploads and the handling of deleted files.
    public init(
        _ lfs: LFSManager, database: any DatabaseWriter, source: Source, groups: [BackupGroup]? = nil,
        host: BackupHost, options: BackupOptions = BackupOptions()
    ) {
        self.lfs = lfs
        self.database = database
        self.source = source
        self.selection = groups.map(BackupSelection.init)
        self.host = host
        self.options = options
    }

    /// Walks through all originals once. When it returns, all readable originals are attached. Their uploads continue.
    ///
    /// Each batch of originals is read and attached in one transaction, so an interruption loses at most the work of
    /// one batch.
    /// - Parameter onEvent: receives the events, on any thread.
    /// - Throws: the errors of ``AssetSource/makeWalk()``, errors of the host's closures, and `CancellationError`. When
    ///   the local store or the database fails, so that the backup cannot continue, the error is an `LFSError` or that
    ///   of the database.
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
        // While one batch is reported and read, the next one is looked up, and the walk collects the names of the one
        // after it. Originals that must be read are looked up again just before.
        while let next = names {
            try Task.checkCancellation()
            async let nextBatch = look(next)
            async let nextNames = following(next, of: walk)
            try await attach(batch, attacher: attacher)
            (batch, names) = try await (nextBatch, nextNames)
        }
        try await attach(batch, attacher: attacher)
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

    /// Returns the next batch, or nil after the last one.
    private func following(_ names: AssetBatch, of walk: BatchedWalk<Source.Walk>) async throws -> AssetBatch? {
        names.isLast ? nil : try await next(of: walk)
    }

    private func next(of walk: BatchedWalk<Source.Walk>) async throws -> AssetBatch {
        try await BlockingPool.shared.run { [selection] _ in walk.next(selection) }
    }

    private func attach(_ batch: LookedUp, attacher: Attacher<Source>) async throws {
        for item in batch.names.others { if let event = item.event { attacher.tell(event) } }
        let entries = batch.names.entries
        if !entries.isEmpty { try await host.entries?(entries) }
        try await attacher.attach(batch.assets)
    }
}

extension AssetItem {
    /// The event for an item that is not an original.
    fileprivate var event: BackupEvent? {
        switch self {
        case .asset(let asset): .found(asset)
        case .unreadable(let name, let reason): .unreadable(name, reason)
        case .passedOver(let name, let reason): .passedOver(name, reason)
        case .entry: nil
        }
    }
}
