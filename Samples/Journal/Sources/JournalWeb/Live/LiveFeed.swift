import Foundation
import GRDB
import JournalStorage
import LFS
import ServiceLifecycle
import Synchronization

/// A service that informs open pages of changes until they are closed or the server stops.
///
/// Each message has a version, and so has each page: that of the last message before the page was made. A page has
/// missed nothing if its stream begins with its own version. A watcher that reads too slowly misses messages, and loads
/// its contents again at the next change.
final class LiveFeed: Service {
    static let maxWatchers = 100

    private let journal: DatabaseStorageService
    private let states: [AsyncStream<Void>]
    private let lines: AsyncStream<HistoryLine>
    private let events: AsyncStream<LFSEvent>
    private let heartbeat: Duration
    private let watchers = Mutex(0)
    private let messages = LiveMessages()
    private let changes: AnyDatabaseCancellable

    init(
        journal: DatabaseStorageService, history: FileHistory, sync: DeviceSync? = nil,
        backup: FolderBackup? = nil, rounds: RoundCheck? = nil, heartbeat: Duration = .seconds(15)
    ) {
        self.journal = journal
        self.heartbeat = heartbeat
        states = [sync?.state.changes(), backup?.state.changes(), rounds?.last.changes()].compactMap(\.self)
        lines = history.watch()
        events = journal.lfs.events()
        changes = DatabaseRegionObservation(tracking: Self.tables).start(in: journal.database) { _ in
        } onChange: { [messages] _ in
            messages.send(.changed)
        }
    }

    /// The version of a page that is made now.
    var version: String { messages.version }

    /// Counts one more page until ``leave()``. Returns false if the maximum number of pages is already reached.
    func enter() -> Bool {
        watchers.withLock { count in
            guard count < Self.maxWatchers else { return false }
            count += 1
            return true
        }
    }

    func leave() { watchers.withLock { $0 -= 1 } }

    /// Sends messages until the server stops.
    func run() async throws {
        await withDiscardingTaskGroup { [messages] group in
            group.addTask { [heartbeat] in
                do {
                    try await cancelWhenGracefulShutdown {
                        while true {
                            try await Task.sleep(for: heartbeat)
                            messages.beat()
                        }
                    }
                } catch {}  // the server stops
            }
            for states in states {
                group.addTask {
                    for await _ in states.cancelOnGracefulShutdown() { messages.send(.changed) }
                }
            }
            group.addTask { [lines] in
                for await line in lines.cancelOnGracefulShutdown() { messages.send(.line(line)) }
            }
            group.addTask { [events] in
                for await event in events.cancelOnGracefulShutdown() {
                    if case .outage(let outage) = event { messages.send(.storage(outage?.reason)) }
                    if case .removed = event { messages.send(.changed) }
                }
            }
        }
    }

    /// Passes each message to a closure, with its version. Returns when the server stops. An error of the closure ends
    /// the call too.
    @concurrent func watch(_ send: @concurrent (LiveMessage, String) async throws -> Void) async throws {
        let stream = messages.stream()
        // Pages take this message as the sign that they receive all messages from now on.
        let version = version
        try await send(.storage(try await journal.lfs.outage()?.reason), version)
        for await (message, version) in stream.cancelOnGracefulShutdown() { try await send(message, version) }
    }

    /// The tables that pages show. The queue is included, since a retry changes it without an event, and so are the
    /// files, since another device may have uploaded one.
    private static let tables: [any DatabaseRegionConvertible] = [
        Table("record"), Table("record_tag"), Table("tag"), Table("picture"), Table("album"), Table("album_asset"),
        Table("album_member"), Table("user"), Table("asset"), Table("lfs_setting"), FileData.all(), Upload.all(),
    ]
}

/// Messages to all watchers, each with a version.
private final class LiveMessages: Sendable {
    private let broadcast = Broadcast<(LiveMessage, String)>()
    /// Distinguishes the versions of this process from others.
    private let process = UUID().uuidString
    private let count = Mutex(0)

    /// The version of the last message.
    var version: String { version(count.withLock { $0 }) }

    func stream() -> AsyncStream<(LiveMessage, String)> { broadcast.stream(buffering: 500) }

    func send(_ message: LiveMessage) {
        let number = count.withLock { count in
            count += 1
            return count
        }
        broadcast.send((message, version(number)))
    }

    /// Keeps the connections open. No page is behind after that.
    func beat() { broadcast.send((.alive, "")) }

    private func version(_ number: Int) -> String { "\(process)-\(number)" }
}
