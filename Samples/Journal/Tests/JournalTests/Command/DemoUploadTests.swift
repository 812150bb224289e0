import ArgumentParser
import Foundation
import LFSStorage
import LFSTesting
import Synchronization
import Testing

@testable import journal

@Suite("Uploads of a demo", .timeLimit(.minutes(10)))
struct DemoUploadTests {
    /// A storage that counts concurrent uploads.
    private final class CountedStorage: StorageWrapper {
        let base: any RemoteStorage
        private let counts = Mutex((running: 0, maximum: 0))

        var maxConcurrentUploads: Int { counts.withLock { $0.maximum } }

        init(_ base: any RemoteStorage) { self.base = base }

        func upload(
            _ source: UploadSource, to key: ObjectKey, session: UploadSession
        ) async throws -> RemoteObject {
            counts.withLock { counts in
                counts.running += 1
                counts.maximum = max(counts.maximum, counts.running)
            }
            defer { counts.withLock { $0.running -= 1 } }
            return try await base.upload(source, to: key, session: session)
        }
    }

    @Test("'demo --uploads 50' reaches 50 concurrent uploads")
    func concurrentUploads() async throws {
        try await withFolder { folder in
            let gate = GatedStorage(InMemoryStorage())
            let storage = CountedStorage(gate)
            // The pool starts the 50th upload when more than 98 pictures wait.
            let arguments = [
                "--records", "60", "--pictures", "160", "--uploads", "50", "--wait", "--database",
                folder.appending(path: "a.sqlite").path, "--storage", "dir:\(folder.appending(path: "remote").path)",
            ]
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await DemoCommand.parse(arguments).run { _ in storage } }
                group.addTask {
                    await gate.waitForArrivals(50)
                    gate.open()
                }
                for try await _ in group {}
            }
            #expect(storage.maxConcurrentUploads == 50)
        }
    }
}
