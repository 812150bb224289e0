import Foundation
import LFSSettings
import TestSupport
import Testing

@Suite("Stopping a router", .timeLimit(.minutes(10)))
struct StopTests {
    @Test("Stopping a router releases its tasks, observers, locks and open files")
    func nothing() async throws {
        try await withPlace { place in
            let keys: [StorageKey<Int>] = Store.allCases.map { $0.key("key.\($0.rawValue)", default: 0) }
            weak var left: StorageRouter?
            do {
                let storage = try await place.open { keys }
                left = storage
                try await storage.start()
                let seen = EventLog<Int>()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for key in keys {
                        group.addTask { for try await value in storage.values(of: key) { seen.add(value) } }
                        try await storage.set(7, for: key)
                        #expect(try await storage.update(key) { $0 += 1 } == 8)
                    }
                    await seen.wait { $0.count { $0 == 8 } == keys.count }
                    try await storage.stop()
                    try await group.waitForAll()
                }
                #expect(storage.observerCount == 0)
            }
            #expect(left == nil)
            #if os(Linux)
            let open = try openFiles(below: place.folder)
            #expect(open.filter { !$0.hasPrefix("app.sqlite") || $0.contains("/") } == [])
            #expect(open.contains("app.sqlite"), "the app's own")
            #endif
            // The next router acquires all locks.
            let next = try await place.open { keys }
            for key in keys where key.domain != .memory { #expect(try await next.update(key) { $0 += 1 } == 9) }
        }
    }

    #if os(Linux)
    /// Returns the paths of this process's open files below a folder, relative to it.
    private func openFiles(below folder: URL) throws -> [String] {
        let beginning = folder.resolvingSymlinksInPath().path + "/"
        return try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd").compactMap { name in
            // Other tests open and close files concurrently.
            let target = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")
            guard let target, target.hasPrefix(beginning) else { return nil }
            return String(target.dropFirst(beginning.count))
        }
    }
    #endif
}
