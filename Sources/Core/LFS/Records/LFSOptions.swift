public import Foundation
public import LFSStorage
public import LFSSystem
import LFSTransfer
public import Logging

/// The options of an ``LFSManager``. Only ``storage`` is required.
public struct LFSOptions: Sendable {
    /// The storage to which files are uploaded.
    public var storage: any RemoteStorage
    /// The folder for bytes between `makeFile` and the commit. Nil for `temporary/` inside the local store.
    ///
    /// Each database gets its own folder in it. Another file system works, but then each commit copies the bytes. A
    /// missing folder is created the first time only. Later, ``LFSManager/open(_:options:)`` throws
    /// ``LFSError/Code/folderAbsent``, because its disk may not be mounted. The folder has to belong to this user or to
    /// root, and others may write to it only if it has the sticky bit.
    ///
    /// Do not use a folder that the system clears automatically, such as the Caches folder or `/tmp`. It may contain
    /// the only bytes of a file until the upload is proven.
    public var persistenceLocation: URL?
    /// The folder that keeps the files. Nil for `<database file>.lfs`. It is required for a database in memory.
    public var localStore: URL?
    /// The treatment of a local store that belongs to another database. Such a folder remains when a database file is
    /// deleted and created again, or erased by `eraseDatabaseOnSchemaChange`.
    public enum ForeignStore: Hashable, Sendable {
        /// ``LFSManager/open(_:options:)`` throws ``LFSError/Code/wrongStore``.
        case refuse
        /// The folder is renamed, with the id of its database at the end, and a new one is created. The old files stay
        /// in the renamed folder and are never removed. It is meant for development, where databases are often
        /// recreated.
        case moveAside
    }

    /// The treatment of a local store that belongs to another database. The default is `refuse`.
    public var foreignStore = ForeignStore.refuse
    /// The maximum number of concurrent uploads. The default is 10. Values below 1 count as 1.
    public var maxExecutors = 10
    /// The maximum number of concurrent downloads that a reader waits for. The default is 6. Values below 1 count as 1.
    ///
    /// Prefetching uses the slots that readers leave free. A small file that has arrived and waits for the disk does
    /// not count, so that the next download can start.
    public var maxDownloads = 6
    /// The delays between attempts. After n failures it is a random part of 100 ms × 2^(n−1), at most 60 s.
    public var backoff = Backoff()
    /// The longest delay that the storage may request (Retry-After). The default is one hour. A refused deletion is
    /// retried at this interval. Storages over HTTP reduce a requested delay of more than a day to a day.
    package var maxRetryAfter = Duration.seconds(3_600)
    /// The time for which a file that was made and never inserted stays in the persistence location after the end of
    /// its process. The default is 24 hours.
    public var temporaryFileGracePeriod = Duration.seconds(24 * 3_600)
    /// The time for which an unfinished download is kept after its last byte, so that the next attempt can resume it.
    /// The default is 7 days. Older downloads, and those of deleted files, are removed when the database is opened.
    package var unfinishedDownloadGracePeriod = Duration.seconds(7 * 24 * 3_600)
    /// The space that local copies may take. Room is made before a download and after an upload. The default policy
    /// evicts nothing.
    ///
    /// Changes by other processes, and copies that were kept because of their age or a request, are checked every few
    /// minutes.
    public var eviction = EvictionPolicy()
    /// The protection of files on a locked Apple device. Nil leaves it to the system. The default is class C: files can
    /// be read after the device was unlocked once since its start, so that uploads continue while it is locked.
    ///
    /// It concerns files that are made, moved or downloaded from now on. It has no effect on other systems, and none on
    /// the database, whose files the app protects.
    public var fileProtection: FileProtection? = .completeUntilFirstUserAuthentication
    /// The time for which running uploads may continue after a stop before they return to the queue. The default is 10
    /// seconds.
    public var shutdownTimeout = Duration.seconds(10)
    /// True if GRDB's notifications `Database.suspendNotification` and `Database.resumeNotification` suspend and resume
    /// the manager. The default is false.
    ///
    /// The notification leaves no time for running uploads, and the posting code does not wait for the locks. If the
    /// app can wait, call ``LFSManager/suspend(finishingWithin:)`` before it posts the notification.
    public var observesSuspension = false
    /// The interval of the checks for changes by other processes and for a free upload lock. The default is one second.
    ///
    /// Zero saves the energy of these checks, for a database that no other process and no other connection changes. The
    /// app's own commits are noticed at once in any case. Without checks, a change of the device's clock is noticed
    /// with the next commit.
    public var pollInterval = Duration.seconds(1)
    /// Returns the bytes to show in place of a file that is not on this device, such as a grey picture. Nil for none.
    /// ``LFSManager/displayData(of:)`` calls it, from any thread. The default is nil: no placeholders.
    public var placeholder: (@Sendable (FileData) -> Data?)?
    /// The logger, captured when the manager opens. Normal activity is logged at `info` and below. Messages that may
    /// need attention are logged at `notice` and `warning`.
    public var logger: Logger

    /// Creates options for a storage, with defaults for everything else.
    public init(
        storage: any RemoteStorage, persistenceLocation: URL? = nil, maxExecutors: Int = 10, logger: Logger = .current
    ) {
        self.storage = storage
        self.persistenceLocation = persistenceLocation
        self.maxExecutors = maxExecutors
        self.logger = logger
    }

    /// The options with values in their permitted ranges. A shorter poll interval would cause a busy loop. With a
    /// maximum of zero, a download or an upload would wait forever.
    var withinBounds: LFSOptions {
        var options = self
        if pollInterval != .zero { options.pollInterval = max(pollInterval, .milliseconds(10)) }
        options.maxDownloads = max(maxDownloads, 1)
        // An upload has its file open, and a connection or another file.
        options.maxExecutors = max(min(maxExecutors, OpenFileLimit.share / 2), 1)
        return options
    }

    /// The interval of the checks for foreign changes. Nil for none.
    var checkInterval: Duration? { pollInterval == .zero ? nil : pollInterval }
    /// The interval of repeated attempts while something waits, such as for the lock of another process.
    var retryInterval: Duration { checkInterval ?? .seconds(1) }

    var protector: FileProtector? {
        guard let fileProtection, let protectionCall else { return nil }
        return FileProtector(fileProtection, call: protectionCall)
    }

    /// The longest possible delay of an upload. A longer delay was set before the clock was set back.
    var longestWait: Duration { max(maxRetryAfter, backoff.cap, SendBudget.day) }

    /// The sources of time and randomness, which tests replace.
    package var clock: any Clock<Duration> = ContinuousClock()
    package var wallClock: @Sendable () -> Date = { Date() }
    /// The calls of the system for protection and backup, which tests replace. Nil where the system has none.
    package var protectionCall = FileProtector.systemCall
    package var backupCall = BackupExclusion.systemCall
    /// The maximum time before a use of a local copy is written to the database.
    package var useInterval = Duration.seconds(60)
    /// The interval of scans of the folder of local copies, when ``eviction`` has a limit.
    package var evictionInterval = Duration.seconds(300)
    /// The maximum time that the outcome of an upload waits while more outcomes are expected, so that one transaction
    /// commits them together.
    static let outcomeGrouping = Duration.milliseconds(50)
    package var random: @Sendable () -> Double = { Double.random(in: 0..<1) }
}
