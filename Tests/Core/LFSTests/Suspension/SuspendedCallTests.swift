import Foundation
import GRDB
import LFSStorage
import LFSSystem
import LFSTesting
import TestSupport
import Testing

@testable import LFS

@Suite("Calls of a suspended manager", .serialized, .timeLimit(.minutes(10)))
struct SuspendedCallTests {
    @Test("A suspended manager reads local copies, and records can be inserted and deleted")
    func works() async throws {
        try await withHost { host in
            try await withManager(host, options: try host.optionsWithLocation()) { lfs in
                let bytes = someBytes()
                let made = try await lfs.makeFile(from: .bytes(bytes))
                let kept = try await keptFiles(2, host: host, lfs: lfs)
                try await lfs.suspend()
                try await host.database.write { try made.insert($0) }
                _ = try await host.database.write { try kept[1].delete($0) }
                try await #expect(read(made, lfs: lfs) == bytes)
                try await #expect(lfs.data(of: kept[0])?.count == 1_000)
                try await #expect(lfs.hasLocalCopy(of: kept[0].id))
                try await #expect(lfs.localURL(of: made) != nil)
                try await #expect(lfs.status().local == 1)
                try #expect(LockFiles(below: host.folder).held == [])
                try await lfs.resumeFromSuspension()
                try await lfs.waitForUploads()
                try await lfs.waitForDeletions()
                try #expect(host.count("lfs_file WHERE status = 'remote'") == 2)
            }
        }
    }

    @Test("A suspended manager refuses what writes files or uses the storage")
    func refuses() async throws {
        try await withHost { host in
            try await withManager(host) { lfs in
                let file = try await remoteFile(someBytes(), host: host, lfs: lfs)
                try await lfs.suspend()
                let calls: [@Sendable () async throws -> Void] = [
                    { _ = try await lfs.makeFile(from: .bytes([1])) },
                    { _ = try await lfs.makeFiles(from: [.bytes([1])]) },
                    { _ = try await lfs.contents(of: file) },
                    { _ = try await lfs.bytes(of: file, range: 0..<10) },
                    { _ = try await lfs.prefetch(FileData.all()) },
                    { _ = try await lfs.verify() },
                    { _ = try await lfs.evict(EvictionPolicy(maxByteCount: 0)) },
                    { _ = try await lfs.evictAll() },
                    { _ = try await lfs.repairLocalCopy(of: file.id) },
                    { _ = try await lfs.restore(file.id, from: .bytes([1])) },
                ]
                for (number, call) in calls.enumerated() {
                    #expect(await errorCode(call) == .suspended, "call \(number)")
                }
                try #expect(host.filesInTemporary().isEmpty && host.namesInIncoming().isEmpty)
                try await lfs.resumeFromSuspension()
                try await #expect(lfs.contents(of: file) != nil)
            }
        }
    }

    @Test("A suspension wakes a call that waits for uploads")
    func wakesWaiters() async throws {
        let storage = GatedStorage(InMemoryStorage())
        try await withHost(storage: storage) { host in
            var options = host.options
            options.pollInterval = .seconds(3_600)
            try await withManager(host, options: options) { lfs in
                let file = try await lfs.makeFile(from: .bytes(someBytes()))
                try await host.database.write { try file.insert($0) }
                async let outcome = errorCode { try await lfs.waitForUploads() }
                try await yield(while: !lfs.hub.hasSleepingWaiter)
                try await lfs.suspend(finishingWithin: .zero)
                #expect(await outcome == .suspended)
                storage.open()
            }
        }
    }

    @Test("A file that is being made at a suspension is finished if the time suffices", arguments: [true, false])
    func making(isInTime: Bool) async throws {
        let clock = ManualClock()
        try await withHost { host in
            var options = host.options
            options.clock = clock
            try await withManager(host, options: options) { lfs in
                let (chunks, source) = AsyncStream.makeStream(of: [UInt8].self)
                let begun = Latch()
                source.yield(someBytes(1 << 20))
                async let outcome = errorCode {
                    _ = try await lfs.makeFile(from: .chunks(chunks)) { _ in begun.open() }
                }
                await begun.wait()
                async let suspended: Void = lfs.suspend(finishingWithin: .seconds(20))
                await clock.waitForSleepers { $0.contains(.seconds(20)) }
                if isInTime { source.finish() } else { clock.advance(by: .seconds(20)) }
                try await suspended
                #expect(await outcome == (isInTime ? nil : .suspended))
                try #expect(host.filesInTemporary().count == (isInTime ? 1 : 0))
                source.finish()
            }
        }
    }

    @Test("A running download is cut short by a suspension, and continues after it")
    func download() async throws {
        let gate = GatedStorage(InMemoryStorage(), on: [.download])
        try await withHost(storage: gate) { host in
            try await withManager(host) { lfs in
                let file = try await remoteFile(someBytes(), host: host, lfs: lfs)
                async let outcome = errorCode { _ = try await lfs.contents(of: file) }
                await gate.waitForArrivals(1)
                try await lfs.suspend(finishingWithin: .zero)
                #expect(await outcome == .suspended)
                try #expect(LockFiles(below: host.folder).held == [])
                gate.open()
                try await lfs.resumeFromSuspension()
                try await #expect(lfs.data(of: file)?.count == 1_000)
            }
        }
    }

    @Test("A callback of a verification can suspend the manager")
    func fromWithin() async throws {
        try await withCheckedHost { checked in
            let files = try await checked.uploaded(2)
            for file in files { try checked.plant(nil, at: checked.object(file)) }
            let lfs = try await LFSManager.open(checked.host.database, options: checked.options)
            try lfs.start()
            var options = VerifyOptions()
            options.acceptsEmpty = true
            let code = await errorCode { try await lfs.verify(options) { _ in try await lfs.suspend() } }
            #expect(code == .suspended)
            try #expect(LockFiles(below: checked.host.folder).held == [])
            try await lfs.stop()
        }
    }

    @Test("A write on a connection that GRDB has suspended throws a typed error")
    func suspendedConnection() async throws {
        try await withTemporaryFolder { folder in
            let database = try Self.observingDatabase(folder)
            let host = TestHost(folder: folder, database: database, storage: InMemoryStorage())
            let lfs = try await LFSManager.open(database, options: host.options)
            let file = try await lfs.makeFile(from: .bytes(someBytes()))
            try await database.write { try file.insert($0) }
            NotificationCenter.default.post(name: Database.suspendNotification, object: nil)
            #expect(await errorCode { try await lfs.pin([file.id]) } == .suspended)
            try await #expect(lfs.data(of: file) != nil)
            NotificationCenter.default.post(name: Database.resumeNotification, object: nil)
            try await lfs.pin([file.id])
            try await lfs.stop()
            try database.close()
        }
    }

    @Test("GRDB's notifications suspend and resume a manager that observes them")
    func notifications() async throws {
        try await withTemporaryFolder { folder in
            let database = try Self.observingDatabase(folder)
            let storage = GatedStorage(InMemoryStorage())
            let host = TestHost(folder: folder, database: database, storage: storage)
            var options = host.options
            options.observesSuspension = true
            let lfs = try await LFSManager.open(database, options: options)
            try lfs.start()
            let file = try await lfs.makeFile(from: .bytes(someBytes()))
            try await database.write { try file.insert($0) }
            await storage.waitForArrivals(1)
            NotificationCenter.default.post(name: Database.suspendNotification, object: nil)
            #expect(lfs.isSuspended)
            try await lfs.suspend()
            try #expect(LockFiles(below: folder).held == [])
            storage.open()
            NotificationCenter.default.post(name: Database.resumeNotification, object: nil)
            try await yield(while: lfs.isSuspended)
            try await lfs.waitForUploads()
            try #expect(host.file(file.id)?.status == .remote)
            try await lfs.stop()
            NotificationCenter.default.post(name: Database.suspendNotification, object: nil)
            #expect(!lfs.isSuspended)
            try database.close()
        }
    }

    /// Opens a database that GRDB's notifications suspend. Only the two tests above post them, and one suite observes
    /// them.
    private static func observingDatabase(_ folder: URL) throws -> DatabasePool {
        var configuration = Configuration()
        configuration.observesSuspensionNotifications = true
        let path = folder.appendingPathComponent("recipes.sqlite").path
        let database = try DatabasePool(path: path, configuration: configuration)
        try TestHost.migrator.migrate(database)
        return database
    }
}
