import Foundation
import GRDB
import JournalStorage
import LFS
import ServiceLifecycle
import Synchronization

/// Tells open pages what happens, until they are closed or the server stops.
///
/// It counts its watchers and has no other state. A watcher that does not read in time misses events, and loads what it
/// shows again at the next change.
final class LiveFeed: Sendable {
    static let maxWatchers = 100

    private let journal: DatabaseStorageService
    private let sync: DeviceSync?
    private let backup: FolderBackup?
    private let heartbeat: Duration
    private let watchers = Mutex(0)

    init(
        journal: DatabaseStorageService, sync: DeviceSync? = nil, backup: FolderBackup? = nil,
        heartbeat: Duration = .seconds(15)
    ) {
        (self.journal, self.sync, self.backup) = (journal, sync, backup)
        self.heartbeat = heartbeat
    }

    /// Counts one more page, until ``leave()``; false when as many as may watch do.
    func enter() -> Bool {
        watchers.withLock { count in
            guard count < Self.maxWatchers else { return false }
            count += 1
            return true
        }
    }

    func leave() { watchers.withLock { $0 -= 1 } }

    /// Gives each message to a closure. Returns when the server stops; what the closure throws ends it too.
    @concurrent func run(_ send: @concurrent (LiveMessage) async throws -> Void) async throws {
        let (messages, continuation) = AsyncStream.makeStream(
            of: LiveMessage.self, bufferingPolicy: .bufferingNewest(500))
        let changes = DatabaseRegionObservation(tracking: Self.tables).start(in: journal.database) { _ in
            continuation.finish()
        } onChange: { _ in
            continuation.yield(.changed)
        }
        defer { changes.cancel() }
        let events = journal.lfs.events()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                for await event in events {
                    if let message = LiveMessage(event) { continuation.yield(message) }
                }
                continuation.finish()
            }
            for states in [sync?.changes(), backup?.changes()].compactMap(\.self) {
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
            // Pages take this one as the sign that from here on they are told everything.
            try await send(.storage(try await journal.lfs.outage()?.reason))
            for await message in messages.cancelOnGracefulShutdown() { try await send(message) }
        }
    }

    /// What pages show. The queue is among it, for it changes without an event when somebody asks for a retry, and so
    /// are the files, for another device may have uploaded one.
    private static let tables: [any DatabaseRegionConvertible] = [
        Table("record"), Table("record_tag"), Table("tag"), Table("picture"), Table("album"), Table("album_asset"),
        Table("album_member"), Table("lfs_setting"), FileData.all(), Upload.all(),
    ]
}
