import Foundation
import LFS
import LFSBackground
import LFSStorage
import LFSSystem
import Synchronization
import TestSupport
import Testing

@Suite("Handing uploads over", .timeLimit(.minutes(10)))
struct HandoverTests {
    @Test("A lent upload is not due and has one task with a copy of its bytes")
    func small() async throws {
        try await BackgroundHost.run { host, store in
            let session = RecordingSession()
            try await host.launch(with: session) { app in
                let file = try await app.attach()
                #expect(try await app.uploads.handOver() == 1)
                #expect(try await app.dueCount() == 0)
                let task = try #require(session.tasks.first)
                #expect(session.tasks.count == 1)
                #expect(try Data(contentsOf: task.file) == Data(SampleBytes.make(1_000)))
                #expect(try permissions(of: task.file) == 0o600)
                #expect(task.label.contains(file.id.description))
                #expect(!"\(task)".contains("signature") && !String(reflecting: task).contains("signature"))
                #expect(try await app.uploads.handOver() == 0, "It is lent already.")
                #expect(store.puts.isEmpty, "The app itself sends nothing.")
            }
        }
    }

    @Test("The parts of a large file are signed with one request")
    func large() async throws {
        try await BackgroundHost.run { host, store in
            let session = RecordingSession()
            try await host.launch(with: session) { app in
                _ = try await app.attach(3 * StoreServer.partSize + 10)
                #expect(try await app.uploads.handOver() == 1)
                #expect(session.tasks.count == 4)
                #expect(store.asked == ["upload", "parts"])
                #expect(try await app.count("lfs_loan") == 4)
                let sizes = try session.tasks.map { try Data(contentsOf: $0.file).count }
                #expect(sizes == [StoreServer.partSize, StoreServer.partSize, StoreServer.partSize, 10])
            }
        }
    }

    @Test("The limits on tasks and bytes leave the other uploads in the queue")
    func limits() async throws {
        try await BackgroundHost.run { host, _ in
            let session = RecordingSession()
            try await host.launch(with: session, configure: { $1.maxTasks = 3 }) { app in
                for seed in 1...5 { _ = try await app.attach(seed: UInt64(seed)) }
                #expect(try await app.uploads.handOver() == 3)
                #expect(try await app.dueCount() == 2)
                #expect(try await app.uploads.handOver() == 0)
            }
            let other = RecordingSession()
            try await host.launch(with: other, configure: { $1.maxByteCount = 2_500 }) { app in
                let count = try await app.uploads.handOver()
                #expect(count == 2)
                #expect(try await app.dueCount() == 3)
                #expect(try host.partFiles().count == 2)
            }
        }
    }

    @Test("Without a reply of the signing server the upload stays due")
    func unsigned() async throws {
        try await withTemporaryFolder { folder in
            let host = BackgroundHost(folder: folder, server: try #require(URL(string: "http://127.0.0.1:9/lfs")))
            try await host.launch(with: RecordingSession()) { app in
                _ = try await app.attach()
                #expect(try await app.uploads.handOver() == 0)
                #expect(try await app.dueCount() == 1)
                #expect(try await app.count("lfs_loan") == 0)
            }
        }
    }

    @Test("A loan that ends during the hand-over starts no task", arguments: ["lent", "signed", "written"])
    func over(step: String) async throws {
        try await BackgroundHost.run { host, store in
            let session = RecordingSession()
            let advance = Mutex<TimeInterval>(0)
            try await host.launch(
                with: session,
                configure: { options, limits in
                    options.wallClock = { Date(timeIntervalSinceNow: advance.withLock { $0 }) }
                    limits.onStep = { reached in
                        guard reached == step else { return }
                        advance.withLock { $0 = 90_000 }
                    }
                }
            ) { app in
                _ = try await app.attach()
                #expect(try await app.uploads.handOver() == 0)
                #expect(session.tasks.isEmpty)
                let asked = step == "lent" ? [] : ["upload"]
                #expect(store.asked == asked, "A loan that is over signs nothing.")
                #expect(try host.partFiles() == [])
                #expect(try await app.count("lfs_loan") == 0)
            }
        }
    }

    @Test("A refused start gives the upload back and removes its file")
    func refusedStart() async throws {
        try await BackgroundHost.run { host, _ in
            let session = RecordingSession()
            session.startError = StorageError(.unknown, message: "no")
            try await host.launch(with: session) { app in
                _ = try await app.attach()
                #expect(try await app.uploads.handOver() == 0)
                #expect(try await app.dueCount() == 1)
                #expect(try host.partFiles() == [])
            }
        }
    }

    @Test("A storage that cannot sign requests is refused")
    func otherStorage() async throws {
        try await BackgroundHost.run { host, _ in
            await #expect(throws: StorageError.self) {
                try await host.launch(
                    with: RecordingSession(),
                    configure: { options, _ in
                        options.storage = InMemoryStorage()
                    }
                ) { _ in }
            }
        }
    }
}
