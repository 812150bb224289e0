import Foundation
import GRDB
import LFS
import LFSBackground
import LFSStorage
import LFSSystem
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
