import Foundation
import GRDB
import LFS
import LFSStorage
import LFSSystem
import LFSTesting
import Testing

/// Tests of an app that stops its manager before a suspension, and opens another one later.
@Suite("Stopping for a suspension", .timeLimit(.minutes(10)))
struct StopForSuspensionTests {
    @Test("A manager that stops during an upload holds no lock afterwards")
    func releasesLocks() async throws {
        let storage = GatedStorage(InMemoryStorage())
        try await withHost(storage: storage) { host in
            var options = try host.optionsWithLocation()
            options.shutdownTimeout = .zero
            let lfs = try await LFSManager.open(host.database, options: options)
            try lfs.start()
            let file = try await lfs.makeFile(from: .bytes(someBytes()))
            try await host.database.write { try file.insert($0) }
            await storage.waitForArrivals(1)
            try #expect(LockFiles(below: host.folder).held.count == LockFiles.count)
            try await lfs.stop()
            let locks = try LockFiles(below: host.folder)
            #expect(locks.held == [])
            #expect(locks.taken.count == LockFiles.count)
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
            try #expect(host.count("lfs_file WHERE status = 'remote'") == 3)
        }
    }
}
