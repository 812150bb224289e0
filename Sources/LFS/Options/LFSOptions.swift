public import Foundation
public import LFSStorage
import LFSSystem
import LFSTransfer
public import Logging

/// How an ``LFSManager`` works. Only ``storage`` has to be given.
public struct LFSOptions: Sendable {
    /// Where files are offloaded to.
    public var storage: any RemoteStorage
    /// Where bytes wait between `makeFile` and the commit; nil for `temporary/` inside the local store.
    ///
    /// Each database gets a folder of its own in it. Another file system works, at the price of a copy on commit. It is
    /// made if it is missing, but not once it was used: then ``LFSManager/open(_:options:)`` throws
    /// ``LFSError/Code/folderAbsent``, since its disk may not be mounted. It has to belong to this user or to root, and
    /// others may write to it only if it has the sticky bit.
    ///
    /// Do not name a folder that the system clears by itself, such as the Caches folder or `/tmp`: until its upload is
    /// proven, a file has its only bytes here.
    public var persistenceLocation: URL?
    /// The folder that keeps the files; nil for `<database file>.lfs`. A database in memory needs it.
    public var localStore: URL?
    /// What is done with the folder of another database in the place of the local store, as it is left when a database
    /// file is deleted, or erased by `eraseDatabaseOnSchemaChange`, and made anew.
    public enum ForeignStore: Hashable, Sendable {
        /// ``LFSManager/open(_:options:)`` throws ``LFSError/Code/wrongStore``.
        case refuse
        /// The folder is renamed, with the id of its database at the end, and a new one is made. Its files stay in it,
        /// and nobody removes them: for development, where databases come and go.
        case moveAside
    }

    /// What is done with the folder of another database in the place of the local store.
    public var foreignStore = ForeignStore.refuse
    /// How many uploads run at once at the most. At least 1, and less counts as 1.
    public var maxExecutors = 10
    /// How many downloads that somebody waits for run at once at the most. At least 1, and less counts as 1.
    ///
    /// Prefetching takes what is left of it. A small file whose bytes have come and that waits for the disk does not
    /// count, so that the next one can come meanwhile.
    public var maxDownloads = 6
    /// The delays between tries: doubling, with full jitter.
    public var backoff = Backoff()
    /// How long a storage may ask to be left alone (Retry-After). A deletion that it refuses is tried again as often.
    /// `S3Storage` takes more than a day for a day.
    public var maxRetryAfter = Duration.seconds(3_600)
    /// How long a file that was made and never inserted stays in the persistence location after the process that made
    /// it has ended.
    public var temporaryFileGracePeriod = Duration.seconds(24 * 3_600)
    /// How long an unfinished download is kept after its last byte, so that the next try goes on with it. What is
    /// older, or is of a file that was deleted, is removed when the database is opened.
    public var unfinishedDownloadGracePeriod = Duration.seconds(7 * 24 * 3_600)
    /// How much space local copies may take: room is made before a download and after an upload. It evicts nothing as
    /// it comes.
    ///
    /// Copies and rows that another process changes, and what stays because of its age or of a request, are looked at
    /// anew every few minutes.
    public var eviction = EvictionPolicy()
    /// How long uploads under way may go on after a stop before they are given back to the queue.
    public var shutdownTimeout = Duration.seconds(10)
    /// How often changes by other processes are looked for, and whether the upload lock is free.
    public var pollInterval = Duration.seconds(1)
    /// Where LFS logs, captured when the manager opens: what goes on at `info` and below, what somebody may have to
    /// look at as `notice` and `warning`.
    public var logger: Logger

    /// Options for a storage, with defaults for everything else.
    public init(
        storage: any RemoteStorage, persistenceLocation: URL? = nil, maxExecutors: Int = 10, logger: Logger = .current
    ) {
        self.storage = storage
        self.persistenceLocation = persistenceLocation
        self.maxExecutors = maxExecutors
        self.logger = logger
    }

    /// As they can be worked with: a shorter interval would be a busy loop, and no download at all a wait without end.
    var withinBounds: LFSOptions {
        var options = self
        options.pollInterval = max(pollInterval, .milliseconds(10))
        options.maxDownloads = max(maxDownloads, 1)
        // An upload has its file and a connection open, or another file.
        options.maxExecutors = max(min(maxExecutors, OpenFileLimit.quarter / 2), 1)
        return options
    }

    /// The longest that an upload can be put off: what is put off further was by a clock that was set back since.
    var longestWait: Duration { max(maxRetryAfter, backoff.cap, SendBudget.day) }

    /// Time and chance, which tests replace.
    package var clock: any Clock<Duration> = ContinuousClock()
    package var wallClock: @Sendable () -> Date = { Date() }
    /// How long a use of a local copy may wait to be written down.
    package var useInterval = Duration.seconds(60)
    /// How often the folder of local copies is looked at as a whole, when ``eviction`` has an aim.
    package var evictionInterval = Duration.seconds(300)
    /// How long the outcome of an upload may wait for others to be committed with, while there are more to come.
    static let outcomeGrouping = Duration.milliseconds(50)
    package var random: @Sendable () -> Double = { Double.random(in: 0..<1) }
}
