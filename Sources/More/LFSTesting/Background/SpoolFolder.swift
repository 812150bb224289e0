import Foundation
import LFSBackground
import LFSSystem

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#else
import Darwin
#endif

/// The folder through which processes of an app and a ``SimulatedDaemon`` communicate.
///
/// ```
/// tasks/<id>.json     tasks that have not begun
/// running/<id>.json   the task that the daemon is sending
/// events/<id>.json    events that the app has not received
/// daemon.lock         held by the running daemon
/// stop                ends the daemon
/// ```
struct SpoolFolder: Sendable {
    enum Room: String, CaseIterable {
        case tasks, running, events
    }

    /// A task with the secrets of its request.
    struct Entry: Codable, Sendable {
        var label: String
        var url: URL
        var headers: [String: String]
        var file: URL
    }

    /// The end of a task.
    struct Ending: Codable, Sendable {
        var label: String
        var status: Int?
        var isRedirected = false
        var reason = ""

        var event: BackgroundEvent {
            .ended(
                label: label,
                outcome: status.map { .replied(status: $0, isRedirected: isRedirected) } ?? .failed(reason))
        }
    }

    let url: URL

    init(_ url: URL) throws {
        self.url = url
        for room in Room.allCases {
            try FileManager.default.createDirectory(at: folder(room), withIntermediateDirectories: true)
        }
    }

    private func folder(_ room: Room) -> URL { url.appendingPathComponent(room.rawValue) }
    private func file(_ name: String, in room: Room) -> URL { folder(room).appendingPathComponent(name) }
    private var stopFile: URL { url.appendingPathComponent("stop") }

    // MARK: Daemon

    var isStopped: Bool { FileManager.default.fileExists(atPath: stopFile.path) }
    func stop() throws { try Data().write(to: stopFile) }

    /// Returns the lock that a running daemon holds.
    func lock() throws -> FileLock { FileLock(try Directory.open(url.path).openOrCreate("daemon.lock")) }

    // MARK: Entries

    func names(in room: Room) throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: folder(room).path).filter { $0.hasSuffix(".json") }.sorted()
    }

    func write(_ value: some Encodable, in room: Room) throws {
        try JSONEncoder().encode(value).write(to: file("\(UUID()).json", in: room), options: .atomic)
    }

    /// Returns an entry. Returns nil if another process has just removed or moved it.
    func read<Value: Decodable>(_ type: Value.Type, named name: String, in room: Room) throws -> Value? {
        guard let data = FileManager.default.contents(atPath: file(name, in: room).path) else { return nil }
        return try JSONDecoder().decode(type, from: data)
    }

    /// Moves an entry in one step.
    ///
    /// - Returns: false if another process has just removed or moved it.
    func move(_ name: String, from room: Room, to other: Room) -> Bool {
        rename(file(name, in: room).path, file(name, in: other).path) == 0
    }

    /// Removes an entry.
    ///
    /// - Returns: false if another process has just removed or moved it.
    @discardableResult
    func remove(_ name: String, in room: Room) -> Bool { unlink(file(name, in: room).path) == 0 }
}
