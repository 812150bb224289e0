import Foundation
import LFSStorage
import LFSTesting
import TestSupport
import Testing

/// Tests with folders that disappear, fill up or are not writable.
@Suite("Outages of a storage folder", .timeLimit(.minutes(10)))
struct DirectoryStorageOutageTests {
    private func upload(_ bytes: [UInt8], to storage: DirectoryStorage, name: String = "content") async throws {
        _ = try await storage.upload(.temporary(bytes), to: ObjectKey("space/" + name), session: UploadSession())
    }

    private func requireUnreachable(_ storage: DirectoryStorage) async throws {
        let key = try ObjectKey("space/content")
        let calls: [() async throws -> Void] = [
            { try await self.upload([1], to: storage) },
            { _ = try await storage.head(key) },
            { _ = try await storage.download(DownloadRequest(key), into: DownloadSink { _ in }) },
            { try await storage.delete(key, abandoning: nil) },
            { _ = try await storage.list(ListRequest(prefix: "")) },
        ]
        for call in calls {
            let error = await #expect(throws: StorageError.self) { try await call() }
            #expect(error?.code == .unreachable)
        }
    }

    @Test("A storage folder that disappeared is unreachable and works again when it is back")
    func missingRoot() async throws {
        try await withTemporaryFolder { folder in
            let root = folder.child("share")
            let storage = try DirectoryStorage(at: root)
            try await upload([1, 2, 3], to: storage)
            try FileManager.default.moveItem(at: root, to: folder.child("elsewhere"))
            try await requireUnreachable(storage)
            #expect(try names(in: folder) == ["elsewhere"])
            try FileManager.default.moveItem(at: folder.child("elsewhere"), to: root)
            #expect(try await storage.head(ObjectKey("space/content")).byteCount == 3)
        }
    }

    @Test("A storage folder that was replaced is unreachable, and nothing is written there")
    func replacedRoot() async throws {
        try await withTemporaryFolder { folder in
            let root = folder.child("share")
            let storage = try DirectoryStorage(at: root)
            try await upload([1, 2, 3], to: storage)
            try FileManager.default.moveItem(at: root, to: folder.child("elsewhere"))
            try FileManager.default.createDirectory(at: root, withIntermediateDirectories: false)
            try await requireUnreachable(storage)
            #expect(try names(in: root) == [])
            #expect(try names(in: folder.child("elsewhere").child("space")) == ["content"])
        }
    }

    @Test("An upload creates a subfolder again that was removed")
    func removedNamespace() async throws {
        try await withTemporaryFolder { folder in
            let storage = try DirectoryStorage(at: folder.child("share"))
            try await upload([1], to: storage)
            try FileManager.default.removeItem(at: folder.child("share").child("space"))
            let error = await #expect(throws: StorageError.self) { try await storage.head(ObjectKey("space/content")) }
            #expect(error?.code == .missing)
            try await upload([1, 2], to: storage)
            #expect(try await storage.head(ObjectKey("space/content")).byteCount == 2)
        }
    }

    @Test(
        "A full storage folder keeps nothing of the upload and accepts smaller files",
        .enabled(if: Machine.canMount, "needs root to mount"))
    func fullDisk() async throws {
        try await withSmallFileSystem(kilobytes: 512) { folder in
            let storage = try DirectoryStorage(at: folder.child("share"))
            let error = await #expect(throws: StorageError.self) {
                try await upload(SampleBytes.make(1_000_000), to: storage)
            }
            #expect(error?.code == .noSpace)
            #expect(error?.isRetryable == true)
            #expect(try names(in: folder.child("share").child("space")) == [])
            try await upload(SampleBytes.make(100_000), to: storage)
            let former = SampleBytes.make(100_000)
            await #expect(throws: StorageError.self) { try await upload(SampleBytes.make(900_000), to: storage) }
            #expect(try Data(contentsOf: folder.child("share").child("space").child("content")) == Data(former))
        }
    }

    @Test(
        "The error of a read-only folder names it and its permissions",
        .enabled(if: Machine.canMount, "needs root to mount"))
    func readOnly() async throws {
        try await withSmallFileSystem(kilobytes: 512) { folder in
            let root = folder.child("share")
            let storage = try DirectoryStorage(at: root)
            try await upload([1], to: storage)
            try #require(try runTool("mount", arguments: ["-o", "remount,ro", folder.path]))
            let errors = [
                await #expect(throws: StorageError.self) { try await upload([1, 2], to: storage) },
                #expect(throws: StorageError.self) { try DirectoryStorage(at: root) },
            ]
            for error in errors {
                #expect(error?.code == .forbidden)
                #expect(error?.message.contains(root.path) == true && error?.message.contains("permissions") == true)
            }
            #expect(try await storage.head(ObjectKey("space/content")).byteCount == 1)
        }
    }

    @Test("Opening a folder without a parent folder, or a file, fails with a clear error")
    func openingErrors() async throws {
        try await withTemporaryFolder { folder in
            let error = #expect(throws: StorageError.self) { try DirectoryStorage(at: folder.child("a").child("b")) }
            #expect(error?.code == .invalidRequest)
            #expect(error?.message.contains("its parent folder is missing") == true)
            #if os(Linux)
            let system = #expect(throws: StorageError.self) {
                try DirectoryStorage(at: URL(fileURLWithPath: "/proc/lfs-storage"))
            }
            #expect(system?.code == .invalidRequest)
            #expect(system?.message.contains("the file system does not allow it") == true)
            #endif
            try Data([1]).write(to: folder.child("file"))
            let other = #expect(throws: StorageError.self) { try DirectoryStorage(at: folder.child("file")) }
            #expect(other?.isRetryable == false)
        }
    }
}
