public import GRDB
import LFSDatabase
import LFSFiles
import LFSStorage
import LFSSystem
import LFSTransfer
import Logging
import Synchronization

/// Attaches files to the records of one database and offloads them in the background.
///
/// ```swift
/// let lfs = try await LFSManager.open(database, options: LFSOptions(storage: storage))
/// try lfs.start()
/// ```
///
/// It is wiring only: what it does is done by the parts below it. One manager at a time may use a database connection;
/// several processes may open the same database, and one of them at a time uploads.
public final class LFSManager: Sendable {
    let options: LFSOptions
    let namespace: Namespace
    let runner: BackgroundRunner
    let places: FilePlaces
    let observer: CommitObserver
    let hub: EventHub
    let pool: ExecutorPool
    let journal: DatabaseJournal
    let deletions: DeletionWorker
    let downloads: DownloadScheduler
    let uses: UseLog
    let room: AutomaticEviction
    let reader: FileReader
    let lifecycle = Lifecycle()
    let commits: Signal
    let tombstones: Signal
    /// Whether the opening has left files that wait for room in the store.
    let promotionIsDue = Mutex(false)
    private let database: any DatabaseWriter

    /// Opens LFS on a database whose migrations have run, and repairs what a crash may have left.
    ///
    /// Nothing goes over the network and nothing runs in the background until ``start()`` or ``run()``; files can be
    /// made and inserted from now on.
    ///
    /// - Throws: ``LFSError`` when the schema is missing or newer, or a folder cannot be used;
    ///   ``LFSError/Code/openElsewhere`` when a reset has to be finished while another process has the database open.
    public static func open(_ database: any DatabaseWriter, options: LFSOptions) async throws -> LFSManager {
        do {
            var options = options
            // A shorter one would be a busy loop.
            options.pollInterval = max(options.pollInterval, .milliseconds(10))
            options.maxDownloads = max(options.maxDownloads, 1)
            let opening = try await Opening(database, options)
            let manager = LFSManager(database, options, opening)
            try await manager.attach(opening)
            return manager
        } catch {
            throw LFSError.wrapping(error)
        }
    }

    private init(_ database: any DatabaseWriter, _ options: LFSOptions, _ opening: Opening) {
        self.database = database
        self.options = options
        namespace = opening.namespace
        runner = opening.runner
        places = opening.places
        let (commits, tombstones, hub) = (Signal(), Signal(), EventHub())
        self.commits = commits
        self.tombstones = tombstones
        self.hub = hub
        observer = CommitObserver { commits.notify() }
        let policy = RetryPolicy(
            backoff: options.backoff, maxRetryAfter: options.maxRetryAfter, random: options.random)
        journal = DatabaseJournal(
            namespace: namespace, runner: runner, places: places, observer: observer, wallClock: options.wallClock,
            longestWait: options.longestWait)
        pool = ExecutorPool(
            storage: options.storage, journal: journal, maxExecutors: options.maxExecutors, policy: policy,
            grouping: .milliseconds(25), clock: options.clock, threads: BlockingPool.uploads,
            events: PoolEvents(
                hub: hub, ledger: places.ledger, logger: options.logger, wallClock: options.wallClock,
                tombstones: tombstones
            ).handle)
        downloads = DownloadScheduler(maxDownloads: options.maxDownloads) { [pool] areThere in
            if areThere { pool.beginYielding() } else { pool.endYielding() }
        }
        uses = UseLog(runner: runner, wallClock: options.wallClock)
        let retrying = Self.retrying(options.storage, options)
        let readBack = ReadBack(runner: runner, storage: retrying, wallClock: options.wallClock)
        room = AutomaticEviction(
            options.eviction, runner: runner, places: places, readBack: readBack, wallClock: options.wallClock,
            logger: options.logger)
        reader = FileReader(
            namespace: namespace, runner: runner, places: places, storage: retrying,
            downloader: Downloader(
                store: places.store, storage: options.storage, backoff: options.backoff, clock: options.clock,
                random: options.random),
            scheduler: downloads, uses: uses, room: room, hub: hub, readBack: readBack)
        deletions = DeletionWorker(
            runner: runner, places: places, storage: options.storage, policy: policy, wallClock: options.wallClock,
            pool: pool, uploading: { [pool] in pool.underWayIDs }, withdraw: { [pool] in pool.withdraw($0) },
            onProgress: { removed in
                for id in removed { hub.send(.removed(id)) }
                hub.ringWaiters()
            })
    }

    private static func retrying(_ storage: some RemoteStorage, _ options: LFSOptions) -> any RemoteStorage {
        RetryingStorage(storage, backoff: options.backoff, clock: options.clock, random: options.random)
    }

    private func attach(_ opening: Opening) async throws {
        let (places, observer) = (places, observer)
        try await runner.withWriter { db in
            try InsertGuard.install(db, for: places)
        }
        do {
            try await runner.withWriter { db in db.add(transactionObserver: observer, extent: .observerLifetime) }
            let isDue = try await opening.repair()
            promotionIsDue.withLock { $0 = isDue }
        } catch {
            try await detach()
            throw error
        }
    }

    /// Undoes what ``open(_:options:)`` has attached to the host's connection, once. Who asks for it again waits until it
    /// is done.
    func detach() async throws {
        guard lifecycle.beginDetaching() else { return await lifecycle.waitForDetaching() }
        defer { lifecycle.endDetaching() }
        await lifecycle.calls.end()
        await downloads.stop()
        await writeUses()
        // On the writer's own queue: the host may hold it for long, and no thread of Swift's waits for that.
        let observer = observer
        try await runner.withWriter { db in
            db.remove(transactionObserver: observer)
            try InsertGuard.remove(db)
        }
        try places.release()
        hub.close()
    }
}
