import Dispatch
import Foundation
import GRDB
import LFS
import LFSBackground
import LFSStorage
import LFSSystem
import Synchronization
import TestSupport
import Testing

@Suite("Deletions of lent files", .timeLimit(.minutes(10)))
struct DeletionTests {
    @Test("A deletion cancels the tasks before it removes the object")
    func cancelled() async throws {
        try await BackgroundHost.run { host, _ in
            let session = RecordingSession()
            try await host.launch(with: session, starts: true) { app in
                app.lfs.pause()
                let file = try await app.attach(StoreServer.partSize + 1)
                try await app.uploads.handOver()
                let first = try #require(session.tasks.first)
                try await session.send(first)
                _ = try await app.database.write { db in try file.delete(db) }
                try await yield(while: session.cancelled.count < 2)
                try await app.lfs.waitForDeletions()
                #expect(session.tasks.isEmpty)
                #expect(try host.partFiles() == [])
                #expect(try await app.count("lfs_loan") == 0)
                #expect(try await app.count("lfs_tombstone") == 0)
            }
            #expect(try host.storedObjects().isEmpty)
        }
    }

    @Test("While nothing can cancel the tasks, a deletion waits")
    func waits() async throws {
        try await BackgroundHost.run { host, _ in
            let session = RecordingSession()
            try await host.launch(with: session, starts: true) { app in
                app.lfs.pause()
                let file = try await app.attach()
                try await app.uploads.handOver()
                // As in a process without background uploads.
                app.lfs.loans.onRecall(nil)
                _ = try await app.database.write { db in try file.delete(db) }
                #expect(try await app.lfs.waitForDeletions(timeout: .milliseconds(300)) == 1)
                #expect(try await app.count("lfs_tombstone WHERE state = 'pending'") == 1)
            }
            // The service is late, so that the object appears after the deletion was requested.
            let task = try #require(session.tasks.first)
            try await session.send(task)
            #expect(try host.storedObjects().count == 1)
            try await host.launch(with: session, starts: true) { app in
                try await app.lfs.waitForDeletions()
                #expect(try await app.count("lfs_tombstone") == 0)
                #expect(session.cancelled == [task.label])
            }
            #expect(try host.storedObjects().isEmpty)
        }
    }

    @Test("A deletion cancels a task whose loan is over")
    func over() async throws {
        try await BackgroundHost.run { host, _ in
            let session = RecordingSession()
            let advance = Mutex<TimeInterval>(0)
            try await host.launch(
                with: session, starts: true,
                configure: { options, _ in
                    options.wallClock = { Date(timeIntervalSinceNow: advance.withLock { $0 }) }
                }
            ) { app in
                app.lfs.pause()
                let file = try await app.attach()
                try await app.uploads.handOver()
                let task = try #require(session.tasks.first)
                advance.withLock { $0 = Self.longerThanLoan }
                _ = try await app.database.write { db in try file.delete(db) }
                try await app.lfs.waitForDeletions()
                #expect(session.cancelled == [task.label])
                #expect(session.tasks.isEmpty)
                #expect(try host.partFiles() == [])
                #expect(try await app.count("lfs_loan") == 0)
            }
            #expect(try host.storedObjects().isEmpty)
        }
    }

    @Test("A hand-over starts no task if its loan ends and its file is deleted before")
    func overBeforeStart() async throws {
        try await BackgroundHost.run { host, _ in
            let session = RecordingSession()
            let advance = Mutex<TimeInterval>(0)
            let isSigned = Signal()
            let gate = DispatchSemaphore(value: 0)
            try await host.launch(
                with: session, starts: true,
                configure: { options, limits in
                    options.wallClock = { Date(timeIntervalSinceNow: advance.withLock { $0 }) }
                    limits.onStep = { step in
                        guard step == "signed" else { return }
                        isSigned.notify()
                        gate.wait()
                    }
                }
            ) { app in
                app.lfs.pause()
                let file = try await app.attach()
                // The hand-over blocks a thread, which must not be one of Swift's pool.
                try await withTaskExecutorPreference(BlockingPool.foreign) {
                    async let handedOver = app.uploads.handOver()
                    defer { gate.signal() }
                    await isSigned.wait()
                    advance.withLock { $0 = Self.longerThanLoan }
                    _ = try await app.database.write { db in try file.delete(db) }
                    try await app.lfs.waitForDeletions()
                    gate.signal()
                    let count = try await handedOver
                    #expect(count == 0)
                }
                #expect(session.tasks.isEmpty)
                #expect(try host.partFiles() == [])
                #expect(try await app.count("lfs_loan") == 0)
                #expect(try await app.count("lfs_tombstone") == 0)
            }
            #expect(try host.storedObjects().isEmpty)
        }
    }

    /// A time in seconds above ``LFSBackground/BackgroundOptions/loanTime``.
    private static let longerThanLoan: TimeInterval = 90_000

    @Test("A cancelled upload has no task any more, and a retry makes it due")
    func userCancels() async throws {
        try await BackgroundHost.run { host, _ in
            let session = RecordingSession()
            try await host.launch(with: session) { app in
                let file = try await app.attach()
                try await app.uploads.handOver()
                try await app.lfs.cancel(file.id)
                #expect(session.tasks.isEmpty && session.cancelled.count == 1)
                #expect(try await app.count("lfs_loan") == 0)
                try await app.lfs.retry([file.id])
                #expect(try await app.dueCount() == 1)
            }
        }
    }

    @Test("A reset removes the part files, and keeps what a pending deletion has to cancel")
    func reset() async throws {
        try await BackgroundHost.run { host, _ in
            let session = RecordingSession()
            try await host.launch(with: session) { app in
                _ = try await app.attach()
                try await app.uploads.handOver()
                #expect(try host.partFiles().count == 1)
                try await app.lfs.reset(.loseFilesThatAreNotUploaded(1))
                #expect(try host.partFiles() == [])
            }
            try await host.launch(with: session, starts: true) { app in
                try await app.lfs.waitForDeletions()
                #expect(session.tasks.isEmpty)
                #expect(try await app.count("lfs_tombstone") == 0)
                #expect(try await app.count("lfs_loan") == 0)
            }
        }
    }
}
