import Foundation
import LFSBackground
import LFSSystem
import Synchronization

/// The session of an app process with a ``SimulatedDaemon`` in another process.
///
/// An event is removed from the spool before it is delivered. So a process that ends right then loses it, as with the
/// service of the system.
final class SpooledSession: BackgroundSession {
    private let spool: SpoolFolder
    /// True if events were delivered since the last report that all were.
    private let hasDelivered = Mutex(false)

    /// Creates the session.
    ///
    /// - Parameter spool: the folder of the daemon.
    /// - Throws: the system's error if the folder cannot be created.
    init(spool: URL) throws { self.spool = try SpoolFolder(spool) }

    /// Adds a task to the spool.
    ///
    /// - Throws: the system's error.
    func start(_ task: BackgroundTask) async throws {
        let entry = SpoolFolder.Entry(label: task.label, url: task.url, headers: task.headers, file: task.file)
        try spool.write(entry, in: .tasks)
    }

    /// Returns the labels of the tasks in the spool.
    ///
    /// - Throws: the system's error.
    func labels() async throws -> Set<String> { Set(try entries().map(\.label)) }

    /// Removes tasks from the spool. Waits for the end of one that a running daemon is sending.
    ///
    /// - Throws: the system's error, `CancellationError`.
    func cancel(_ labels: Set<String>) async throws {
        while true {
            let left = try entries().filter { labels.contains($0.label) }
            if left.isEmpty { return }
            for entry in left where entry.room == .tasks { spool.remove(entry.name, in: .tasks) }
            let lock = try spool.lock()
            if try lock.tryLock(.exclusive) {
                // The daemon has died while it was sending.
                for entry in left { spool.remove(entry.name, in: entry.room) }
                try lock.unlock()
            } else {
                try await Task.sleep(for: .milliseconds(5))
            }
        }
    }

    /// Returns the events in the spool as they appear.
    func events() -> AsyncStream<BackgroundEvent> {
        AsyncStream { await self.next() }
    }

    /// Does nothing, because no system waits.
    func finishEvents() async {}

    private func next() async -> BackgroundEvent? {
        while !Task.isCancelled {
            if let ending = try? takeEnding() {
                hasDelivered.withLock { $0 = true }
                return ending.event
            }
            let isLast = hasDelivered.withLock { hasDelivered in
                defer { hasDelivered = false }
                return hasDelivered
            }
            if isLast { return .allDelivered }
            await ContinuousClock().wait(for: .milliseconds(5))
        }
        return nil
    }

    private func takeEnding() throws -> SpoolFolder.Ending? {
        for name in try spool.names(in: .events) {
            let ending = try spool.read(SpoolFolder.Ending.self, named: name, in: .events)
            if spool.remove(name, in: .events), let ending { return ending }
        }
        return nil
    }

    private func entries() throws -> [(name: String, room: SpoolFolder.Room, label: String)] {
        // A task moves from the first folder to the second one, so that it is found in at least one of them.
        try [SpoolFolder.Room.tasks, .running].flatMap { room in
            try spool.names(in: room).compactMap { name in
                try spool.read(SpoolFolder.Entry.self, named: name, in: room).map { (name, room, $0.label) }
            }
        }
    }
}
