import Foundation
import GRDB
import LFSStorage
import LFSSystem
import LFSTesting
import TestSupport
import Testing

@testable import LFS

@Suite("Suspending a manager", .timeLimit(.minutes(10)))
struct SuspensionTests {
    private func insertFile(_ host: TestHost, lfs: LFSManager) async throws -> FileData {
        let file = try await lfs.makeFile(from: .bytes(someBytes()))
        try await host.database.write { try file.insert($0) }
        return file
    }

    // MARK: Locks and uploads

    @Test("A suspended manager holds no lock, and takes all of them when it is resumed")
    func locks() async throws {
        let storage = GatedStorage(InMemoryStorage())
        try await withHost(storage: storage) { host in
            try await withManager(host, options: try host.optionsWithLocation()) { lfs in
                let file = try await insertFile(host, lfs: lfs)
                await storage.waitForArrivals(1)
                try #expect(LockFiles(below: host.folder).held.count == LockFiles.count)
                #expect(!lfs.isSuspended)

                try await lfs.suspend(finishingWithin: .zero)
                #expect(lfs.isSuspended)
                let locks = try LockFiles(below: host.folder)
                #expect(locks.held == [] && locks.taken.count == LockFiles.count)
                for lock in locks.taken { try lock.unlock() }

                storage.open()
                try await lfs.resumeFromSuspension()
                try await lfs.waitForUploads()
                try #expect(host.file(file.id)?.status == .remote)
                try #expect(LockFiles(below: host.folder).held.count == LockFiles.count)
            }
        }
    }

    @Test("An upload that ends within the time of a suspension is recorded")
    func finishes() async throws {
        let (storage, clock) = (GatedStorage(InMemoryStorage()), ManualClock())
        try await withHost(storage: storage) { host in
            var options = host.options
            options.clock = clock
            options.maxExecutors = 1
            try await withManager(host, options: options) { lfs in
                let files = [try await insertFile(host, lfs: lfs), try await insertFile(host, lfs: lfs)]
                await storage.waitForArrivals(1)
                async let suspended: Void = lfs.suspend(finishingWithin: .seconds(20))
                await clock.waitForSleepers { $0.contains(.seconds(20)) }
                storage.open()
                try await suspended
                #expect(storage.arrivalCount == 1, "no further upload starts")
                let remote = try files.count { try host.file($0.id)?.status == .remote }
                #expect(remote == 1)
            }
        }
    }

    @Test("An upload returns to the queue when the time of a suspension is over")
    func isCutShort() async throws {
        let (storage, clock) = (GatedStorage(InMemoryStorage()), ManualClock())
        try await withHost(storage: storage) { host in
            var options = host.options
            options.clock = clock
            try await withManager(host, options: options) { lfs in
                let file = try await insertFile(host, lfs: lfs)
                await storage.waitForArrivals(1)
                async let suspended: Void = lfs.suspend(finishingWithin: .seconds(20))
                await clock.waitForSleepers { $0.contains(.seconds(20)) }
                clock.advance(by: .seconds(19))
                #expect(storage.waiting.count == 1)
                clock.advance(by: .seconds(1))
                try await suspended
                try #expect(host.file(file.id)?.status == .local)
                try #expect(host.count("lfs_job WHERE attempts = 0") == 1)
            }
        }
    }

    @Test("A second suspension with less time shortens the first one")
    func isShortened() async throws {
        let (storage, clock) = (GatedStorage(InMemoryStorage()), ManualClock())
        try await withHost(storage: storage) { host in
            var options = host.options
            options.clock = clock
            try await withManager(host, options: options) { lfs in
                _ = try await insertFile(host, lfs: lfs)
                await storage.waitForArrivals(1)
                async let first: Void = lfs.suspend(finishingWithin: .seconds(20))
                await clock.waitForSleepers { $0.contains(.seconds(20)) }
                try await lfs.suspend(finishingWithin: .zero)
                try await first
                try #expect(LockFiles(below: host.folder).held == [])
            }
        }
    }

    @Test("Cancelling a suspension shortens it")
    func isCancelled() async throws {
        let (storage, clock) = (GatedStorage(InMemoryStorage()), ManualClock())
        try await withHost(storage: storage) { host in
            var options = host.options
            options.clock = clock
            try await withManager(host, options: options) { lfs in
                _ = try await insertFile(host, lfs: lfs)
                await storage.waitForArrivals(1)
                let suspension = Task { try await lfs.suspend(finishingWithin: .seconds(20)) }
                await clock.waitForSleepers { $0.contains(.seconds(20)) }
                suspension.cancel()
                try await suspension.value
                try #expect(LockFiles(below: host.folder).held == [])
            }
        }
    }

    @Test("A suspended manager does not poll, and looks at everything when it is resumed")
    func stopsPolling() async throws {
        let clock = ManualClock()
        try await withHost { host in
            var options = host.options
            options.clock = clock
            options.pollInterval = .seconds(7)
            try await withManager(host, options: options) { lfs in
                await clock.waitForSleepers()
                try await lfs.suspend(finishingWithin: .zero)
                #expect(clock.remaining == [])
                // A commit of another connection, which only polling detects.
                let file = try await lfs.files(whileSuspended: host)
                try await lfs.resumeFromSuspension()
                try await lfs.waitForUploads()
                try #expect(host.file(file.id)?.status == .remote)
            }
        }
    }

    @Test("A resumption during a suspension cuts it short and continues the work")
    func resumesDuringSuspension() async throws {
        let (storage, clock) = (GatedStorage(InMemoryStorage()), ManualClock())
        try await withHost(storage: storage) { host in
            var options = host.options
            options.clock = clock
            try await withManager(host, options: options) { lfs in
                let file = try await insertFile(host, lfs: lfs)
                await storage.waitForArrivals(1)
                async let suspended: Void = lfs.suspend(finishingWithin: .seconds(20))
                await clock.waitForSleepers { $0.contains(.seconds(20)) }
                try await lfs.resumeFromSuspension()
                try await suspended
                await storage.waitForArrivals(2)
                storage.open()
                try await yield(while: host.file(file.id)?.status != .remote)
            }
        }
    }

    // MARK: Life cycle

    @Test("A manager that is suspended before its start begins when it is resumed")
    func beforeStart() async throws {
        let storage = InMemoryStorage()
        try await withHost(storage: storage) { host in
            try await withManager(host, starts: false) { lfs in
                let file = try await lfs.makeFile(from: .bytes(someBytes()))
                try await lfs.suspend()
                try await host.database.write { try file.insert($0) }
                try lfs.start()
                #expect(storage.keys.isEmpty)
                try await lfs.resumeFromSuspension()
                try await lfs.waitForUploads()
                #expect(storage.keys.count == 1)
            }
        }
    }

    @Test("Suspending and resuming twice in a row has no further effect")
    func twice() async throws {
        try await withHost { host in
            try await withManager(host) { lfs in
                for _ in 0..<2 { try await lfs.suspend() }
                for _ in 0..<2 { try await lfs.resumeFromSuspension() }
                _ = try await insertFile(host, lfs: lfs)
                try await lfs.waitForUploads()
                try #expect(host.count("lfs_file WHERE status = 'remote'") == 1)
            }
        }
    }

    @Test("Stopping ends a suspended manager, which then refuses to be suspended or resumed")
    func stopsWhileSuspended() async throws {
        try await withHost { host in
            let lfs = try await LFSManager.open(host.database, options: host.options)
            try lfs.start()
            try await lfs.suspend()
            try await lfs.stop()
            #expect(!lfs.isSuspended)
            #expect(await errorCode { try await lfs.suspend() } == .notRunning)
            #expect(await errorCode { try await lfs.resumeFromSuspension() } == .notRunning)
            try #expect(LockFiles(below: host.folder).held == [])
        }
    }

    @Test("Stopping during a suspension ends both")
    func stopsDuringSuspension() async throws {
        let (storage, clock) = (GatedStorage(InMemoryStorage()), ManualClock())
        try await withHost(storage: storage) { host in
            var options = host.options
            options.clock = clock
            options.shutdownTimeout = .zero
            let lfs = try await LFSManager.open(host.database, options: options)
            try lfs.start()
            _ = try await insertFile(host, lfs: lfs)
            await storage.waitForArrivals(1)
            async let outcome = errorCode { try await lfs.suspend(finishingWithin: .seconds(20)) }
            await clock.waitForSleepers { $0.contains(.seconds(20)) }
            try await lfs.stop()
            // The suspension may end before the stop or with it.
            #expect([nil, .notRunning].contains(await outcome))
            try #expect(LockFiles(below: host.folder).held == [])
        }
    }

    @Test("A pause lasts through a suspension")
    func pause() async throws {
        let storage = InMemoryStorage()
        try await withHost(storage: storage) { host in
            try await withManager(host) { lfs in
                lfs.pause()
                _ = try await insertFile(host, lfs: lfs)
                try await lfs.suspend()
                try await lfs.resumeFromSuspension()
                #expect(lfs.isPaused && storage.keys.isEmpty)
                lfs.resume()
                try await lfs.waitForUploads()
                #expect(storage.keys.count == 1)
            }
        }
    }

    @Test("A manager whose folder was replaced stays suspended without a lock")
    func replacedStore() async throws {
        try await withHost { host in
            try await withManager(host) { lfs in
                try await lfs.suspend()
                let aside = host.folder.appendingPathComponent("aside")
                try FileManager.default.moveItem(at: host.store, to: aside)
                #expect(await errorCode { try await lfs.resumeFromSuspension() } == .wrongStore)
                #expect(lfs.isSuspended)
                try #expect(LockFiles(below: host.folder).held == [])
                try FileManager.default.moveItem(at: aside, to: host.store)
                try await lfs.resumeFromSuspension()
                _ = try await insertFile(host, lfs: lfs)
                try await lfs.waitForUploads()
            }
        }
    }
}

extension LFSManager {
    /// Makes a file of another process while this manager is suspended.
    fileprivate func files(whileSuspended host: TestHost) async throws -> FileData {
        let database = try host.otherDatabase()
        let other = try await LFSManager.open(database, options: host.options)
        let file = try await other.makeFile(from: .bytes(someBytes()))
        try await database.write { try file.insert($0) }
        try await other.stop()
        try database.close()
        return file
    }
}
