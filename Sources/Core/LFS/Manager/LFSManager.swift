public import GRDB
import LFSDatabase
import LFSFiles
import LFSStorage
import LFSSystem
import LFSTransfer
import Logging

/// A manager that attaches files to the records of one database and uploads them in the background.
///
/// ```swift
/// let lfs = try await LFSManager.open(database, options: LFSOptions(storage: storage))
/// try lfs.start()
/// ```
///
/// The manager only connects its parts, which do the work. Only one manager at a time may use a database connection.
/// Several processes may open the same database, and one of them at a time uploads.
public final class LFSManager: Sendable {
    let options: LFSOptions
    let namespace: Namespace
    let runner: BackgroundRunner
    let places: FileLocations
    let lifecycle = Lifecycle()
    let observer: CommitObserver
    let hub = EventHub()
    let pool: ExecutorPool
    let journal: DatabaseJournal
    package let loans: Loans
    let downloads: DownloadScheduler
    let uses: AccessLog
    let automaticEviction: AutomaticEviction
    let reader: FileReader
    let background: BackgroundWork
    let suspension: Suspension
    /// Exists with ``LFSOptions/observesSuspension``.
    let notifications: SuspensionObserver?
    let telemetry: Telemetry
    let commits = Signal()
    let tombstones = Signal()
    let repairLocks = KeyedMutex<FileID>()

    /// Opens LFS on a database whose migrations have run, and repairs the effects of a crash.
    ///
    /// Network access and background work begin with ``start()`` or ``run()``. Files can be made and inserted
    /// from now on.
    ///
    /// - Throws: ``LFSError`` when the schema is missing or newer, or when a folder cannot be used, and
    ///   ``LFSError/Code/openElsewhere`` when a reset has to be finished while another process has the database open.
    public static func open(_ database: any DatabaseWriter, options: LFSOptions) async throws -> LFSManager {
        try await LFSError.catching {
            let options = options.withinBounds
            let opening = try await ManagerOpening(database, options: options)
            let manager = LFSManager(options, opening: opening)
            try await manager.attach(opening)
            return manager
        }
    }

    private init(_ options: LFSOptions, opening: ManagerOpening) {
        self.options = options
        namespace = opening.namespace
        runner = opening.runner
        places = opening.places
        let (wallClock, logger) = (options.wallClock, options.logger)
        let (hub, tombstones) = (hub, tombstones)
        let telemetry = Telemetry(storage: options.storage.capabilities.kind)
        self.telemetry = telemetry
        observer = CommitObserver { [commits] in commits.notify() }
        let policy = RetryPolicy(
            backoff: options.backoff, maxRetryAfter: options.maxRetryAfter, random: options.random)
        journal = DatabaseJournal(
            namespace: namespace, runner: runner, places: places, observer: observer, wallClock: wallClock,
            longestWait: options.longestWait)
        let events = PoolEvents(
            hub: hub, ledger: places.ledger, marks: places.marks, logger: logger, wallClock: wallClock,
            tombstones: tombstones,
            telemetry: telemetry)
        let pool = ExecutorPool(
            storage: options.storage, journal: journal, maxExecutors: options.maxExecutors, policy: policy,
            grouping: LFSOptions.outcomeGrouping, clock: options.clock,
            attempt: telemetry.upload, events: events.handle)
        self.pool = pool
        downloads = DownloadScheduler(maxDownloads: options.maxDownloads) { hasChanges in
            if hasChanges { pool.beginYielding() } else { pool.endYielding() }
        }
        uses = AccessLog(runner: runner, wallClock: wallClock)
        let storage = Self.retrying(options.storage, options: options)
        let readBack = ObjectVerifier(
            runner: runner, storage: storage, wallClock: wallClock,
            onDamage: { [marks = places.marks] in marks?.note($0) })
        automaticEviction = AutomaticEviction(
            options.eviction, runner: runner, places: places, readBack: readBack, wallClock: wallClock, logger: logger)
        reader = FileReader(
            namespace: namespace, runner: runner, places: places, originals: Originals(runner: runner),
            storage: storage,
            downloader: Downloader(
                store: places.store, storage: options.storage, backoff: options.backoff, clock: options.clock,
                random: options.random),
            scheduler: downloads, uses: uses, eviction: automaticEviction, hub: hub, readBack: readBack,
            arrivals: PostDownloadCheck(runner), telemetry: telemetry)
        let loans = Loans(
            namespace: namespace, runner: runner, places: places, pool: pool, journal: journal, options: options,
            wakeDeletions: tombstones.notify)
        self.loans = loans
        let deletions = DeletionWorker(
            runner: runner, places: places, storage: options.storage, policy: policy, wallClock: wallClock,
            retryInterval: options.retryInterval, pool: pool, uploading: { pool.underWayIDs },
            withdraw: { pool.withdraw($0) }, takeBack: loans.takeBack, onProgress: hub.sendRemoved,
            telemetry: telemetry, lifecycle: lifecycle,
            tombstones: tombstones, clock: options.clock, logger: logger)
        let commits = CommitWatch(
            options: options, lifecycle: lifecycle, observer: observer, commits: commits, tombstones: tombstones,
            runner: runner, places: places, pool: pool, hub: hub, telemetry: telemetry)
        background = BackgroundWork(
            options: options, lifecycle: lifecycle, runner: runner, places: places, commits: commits, pool: pool,
            downloads: downloads, deletions: deletions, uses: uses, eviction: automaticEviction, telemetry: telemetry)
        suspension = Suspension(
            options: options, lifecycle: lifecycle, runner: runner, places: places, background: background,
            downloads: downloads, hub: hub)
        notifications = options.observesSuspension ? SuspensionObserver(suspension, logger: logger) : nil
    }

    private static func retrying(_ storage: some RemoteStorage, options: LFSOptions) -> any RemoteStorage {
        RetryingStorage(storage, backoff: options.backoff, clock: options.clock, random: options.random)
    }

    // MARK: Parts

    var files: FileMaker {
        FileMaker(
            namespace: namespace, runner: runner, places: places, calls: lifecycle.calls,
            wallClock: options.wallClock, logger: options.logger, telemetry: telemetry)
    }

    var uploads: UploadQueue {
        UploadQueue(
            runner: runner, pool: pool, journal: journal, hub: hub, waiting: waiting, loans: loans, marks: places.marks,
            wallClock: options.wallClock, telemetry: telemetry)
    }

    var deletions: DeletionQueue {
        DeletionQueue(runner: runner, pool: pool, waiting: waiting, wake: tombstones.notify)
    }

    var pins: Pins { Pins(runner: runner, ledger: places.ledger) }

    var copies: LocalCopies {
        LocalCopies(
            runner: runner, places: places, uses: uses, readBack: reader.readBack, calls: lifecycle.calls,
            wallClock: options.wallClock)
    }

    var repairer: Repairer {
        Repairer(
            runner: runner, places: places, orphans: Orphans(runner: runner), namespace: namespace, reader: reader,
            uploads: uploads, restorer: restorer, turns: repairLocks, wallClock: options.wallClock,
            clock: options.clock, wake: tombstones.notify)
    }

    var restorer: FileRestorer { FileRestorer(files: files, reader: reader, uploads: uploads) }

    private var waiting: RowWait {
        RowWait(
            runner: runner, hub: hub, lifecycle: lifecycle, retryInterval: options.retryInterval, clock: options.clock)
    }
}
