import Foundation
import GRDB
import LFS
import LFSStorage
import LFSSystem
import LFSTesting
import Testing

/// Tests of what an iOS app does around a suspension: it stops the manager, and later opens another one. iOS ends a
/// suspended app that holds a file lock in an app group's folder.
@Suite("Suspension of an app", .timeLimit(.minutes(10)))
struct SuspensionTests {
    /// Locks every lock file below a folder, as another process would.
    ///
    /// - Returns: the locks that were taken, and the names of the files that someone else holds.
    private func lockEverything(below folder: URL) throws -> (taken: [FileLock], held: [String]) {
        var (taken, held) = ([FileLock](), [String]())
        for path in try FileManager.default.subpathsOfDirectory(atPath: folder.path) where path.hasSuffix(".lock") {
            let lock = FileLock(try Descriptor.openForReading(folder.appendingPathComponent(path).path))
            if try lock.tryLock(.exclusive) { taken.append(lock) } else { held.append(path) }
        }
        return (taken, held)
    }

    /// The number of lock files: of the opened store, of the uploader, and of the staging area.
    private static let lockCount = 3

    @Test("A manager that stops during an upload holds no lock afterwards")
    func releasesLocks() async throws {
        let storage = GatedStorage(InMemoryStorage())
        try await withHost(storage: storage) { host in
            let location = host.folder.appendingPathComponent("staging")
            try FileManager.default.createDirectory(at: location, withIntermediateDirectories: true)
            var options = host.options
            options.persistenceLocation = location
            options.shutdownTimeout = .zero
            let lfs = try await LFSManager.open(host.database, options: options)
            try lfs.start()
            let file = try await lfs.makeFile(from: .bytes(someBytes()))
            try await host.database.write { try file.insert($0) }
            await storage.waitForArrivals(1)
            #expect(try lockEverything(below: host.folder).held.count == Self.lockCount)
            try await lfs.stop()
            let (taken, held) = try lockEverything(below: host.folder)
            #expect(held == [])
            #expect(taken.count == Self.lockCount)
        }
    }

    @Test("Another manager uploads during a suspension, and the first continues later")
    func takesTurns() async throws {
        let storage = InMemoryStorage()
        let gate = GatedStorage(storage)
        try await withHost(storage: gate) { host in
            var options = host.options
            options.shutdownTimeout = .zero
            let app = try await LFSManager.open(host.database, options: options)
            try app.start()
            let first = try await app.makeFile(from: .bytes(someBytes()))
            try await host.database.write { try first.insert($0) }
            await gate.waitForArrivals(1)
            try await app.stop()

            let other = try host.otherDatabase()
            options.storage = storage
            try await withManager(host, options: options, on: other) { lfs in
                let second = try await lfs.makeFile(from: .bytes(someBytes()))
                try await other.write { try second.insert($0) }
                try await lfs.waitForUploads()
            }
            try other.close()
            #expect(storage.keys.count == 2)

            try await withManager(host, options: options) { lfs in
                let third = try await lfs.makeFile(from: .bytes(someBytes()))
                try await host.database.write { try third.insert($0) }
                try await lfs.waitForUploads()
            }
            #expect(storage.keys.count == 3)
            #expect(try host.count("lfs_file WHERE status = 'remote'") == 3)
        }
    }
}
