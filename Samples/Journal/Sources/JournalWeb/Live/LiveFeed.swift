import GRDB
import JournalStorage
import LFS
import ServiceLifecycle
import Synchronization

/// A feed that informs open pages of changes until they are closed or the server stops.
///
/// Its only state is the number of watchers. A watcher that reads too slowly misses events, and loads its contents
/// again at the next change.
final class LiveFeed: Sendable {
    static let maxWatchers = 100

    private let journal: DatabaseStorageService
    private let history: FileHistory
    private let sync: DeviceSync?
    private let backup: FolderBackup?
    private let rounds: RoundCheck?
    private let heartbeat: Duration
    private let watchers = Mutex(0)

    init(
        journal: DatabaseStorageService, history: FileHistory, sync: DeviceSync? = nil,
        backup: FolderBackup? = nil, rounds: RoundCheck? = nil, heartbeat: Duration = .seconds(15)
    ) {
        self.journal = journal
        self.history = history
        self.sync = sync
        self.backup = backup
        self.rounds = rounds
        self.heartbeat = heartbeat
    }

    /// Counts one more page until ``leave()``. Returns false if the maximum number of pages is already reached.
    func enter() -> Bool {
        watchers.withLock { count in
            guard count < Self.maxWatchers else { return false }
            count += 1
            return true
        }
    }

    func leave() { watchers.withLock { $0 -= 1 } }

    /// Passes each message to a closure. Returns when the server stops. An error of the closure ends the call too.
    @concurrent func run(_ send: @concurrent (LiveMessage) async throws -> Void) async throws {
        let (messages, continuation) = AsyncStream.makeStream(
            of: LiveMessage.self, bufferingPolicy: .bufferingNewest(500))
        let changes = DatabaseRegionObservation(tracking: Self.tables).start(in: journal.database) { _ in
            continuation.finish()
        } onChange: { _ in
            continuation.yield(.changed)
        }
        defer { changes.cancel() }
        let lines = history.watch()
        // This stream ends with the manager, and so does the feed.
        let events = journal.lfs.events()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for await event in events {
                    if case .outage(let outage) = event { continuation.yield(.storage(outage?.reason)) }
                    if case .removed = event { continuation.yield(.changed) }
                }
                continuation.finish()
            }
            group.addTask {
                for await line in lines { continuation.yield(.line(line)) }
            }
            for states in [sync?.state.changes(), backup?.state.changes(), rounds?.last.changes()].compactMap(\.self) {
                group.addTask {
                    for await _ in states { continuation.yield(.changed) }
                }
            }
            group.addTask { [heartbeat] in
                while true {
                    try await Task.sleep(for: heartbeat)
                    continuation.yield(.alive)
                }
            }
            defer { group.cancelAll() }
            // Pages take this message as the sign that they receive all messages from now on.
            try await send(.storage(try await journal.lfs.outage()?.reason))
            for await message in messages.cancelOnGracefulShutdown() { try await send(message) }
        }
    }

    /// The tables that pages show. The queue is included, since a retry changes it without an event, and so are the
    /// files, since another device may have uploaded one.
    private static let tables: [any DatabaseRegionConvertible] = [
        Table("record"), Table("record_tag"), Table("tag"), Table("picture"), Table("album"), Table("album_asset"),
        Table("album_member"), Table("user"), Table("asset"), Table("lfs_setting"), FileData.all(), Upload.all(),
    ]
}
