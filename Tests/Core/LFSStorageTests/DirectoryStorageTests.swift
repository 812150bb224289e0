import Dispatch
import Foundation
import LFSStorage
import LFSTesting
import Synchronization
import TestSupport
import Testing

/// Tests of the behavior that is special to a folder as a remote storage. The conformance suite tests the rest.
@Suite("Folder as a remote storage", .timeLimit(.minutes(10)))
struct DirectoryStorageTests {
    private let content = SampleBytes.make(600_000)

    private func withStorage(_ body: (DirectoryStorage, URL) async throws -> Void) async throws {
        try await withTemporaryFolder { folder in
            try await body(try DirectoryStorage(at: folder.child("storage")), folder.child("storage"))
        }
    }

    @discardableResult
    private func upload(
        _ bytes: [UInt8], as name: String = "content", to storage: some RemoteStorage,
        session: UploadSession = UploadSession()
    ) async throws -> RemoteObject {
        try await storage.upload(.temporary(bytes), to: ObjectKey("space/" + name), session: session)
    }

    @Test("Objects are stored under their keys and are private to the owner")
    func layout() async throws {
        try await withStorage { storage, folder in
            let object = try await upload(content, to: storage)
            let file = folder.child("space").child("content")
            #expect(try Data(contentsOf: file) == Data(content))
            #expect(object.url.isFileURL && object.url.path == file.path)
            #expect(try permissions(of: file) == 0o600)
            #expect(try permissions(of: folder.child("space")) == 0o700)
            #expect(try permissions(of: folder) == 0o700)
        }
    }

    @Test("An object from beyond the year 2262 is listed, and a change changes its tag")
    func distantTime() async throws {
        try await withStorage { storage, folder in
            try await upload(content, to: storage)
            let file = folder.child("space").child("content")
            try setModified(file, seconds: 10_413_792_000)
            let (object, key) = (try await storage.head(ObjectKey("space/content")), try ObjectKey("space/content"))
            #expect(object.byteCount == Int64(content.count))
            #expect(try await storage.list(ListRequest(prefix: "space/")).objects.map(\.key) == [key])
            try setModified(file, seconds: 10_413_792_001)
            #expect(try await storage.head(key).entityTag != object.entityTag)
        }
    }

    @Test("Opening a folder for reading does not create it")
    func reading() async throws {
        try await withStorage { storage, folder in
            try await upload(content, to: storage)
            let reader = try DirectoryStorage(reading: folder)
            let object = try await reader.head(ObjectKey("space/content"))
            #expect(object.byteCount == Int64(content.count))
            let absent = folder.child("absent")
            let error = #expect(throws: StorageError.self) { try DirectoryStorage(reading: absent) }
            #expect(error?.code == .unreachable)
            #expect(!FileManager.default.fileExists(atPath: absent.path))
        }
    }

    @Test("Requests for a missing object create no folder")
    func asksWithoutTraces() async throws {
        try await withStorage { storage, folder in
            let key = try ObjectKey("nobody/nothing")
            await #expect(throws: StorageError.self) { try await storage.head(key) }
            try await storage.delete(key, abandoning: nil)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
        }
    }

    @Test("An upload replaces the partial file that a crash left and leaves none itself")
    func partOfACrash() async throws {
        try await withStorage { storage, folder in
            let space = folder.child("space")
            try FileManager.default.createDirectory(at: space, withIntermediateDirectories: false)
            try Data(SampleBytes.make(900_000, seed: 9)).write(to: space.child(".content.part"))
            try await upload(content, to: storage)
            #expect(try Data(contentsOf: space.child("content")) == Data(content))
            #expect(try names(in: space) == ["content"])
        }
    }

    @Test("Deleting an object removes the partial file that a crash left")
    func removesPart() async throws {
        try await withStorage { storage, folder in
            let space = folder.child("space")
            try FileManager.default.createDirectory(at: space, withIntermediateDirectories: false)
            try Data([1]).write(to: space.child(".content.part"))
            try await storage.delete(ObjectKey("space/content"), abandoning: nil)
            #expect(try names(in: space) == [])
        }
    }

    /// A file that may have the name of a partial file that an upload is about to write.
    enum Squatter: CaseIterable, Sendable {
        case hardLink, symbolicLink, danglingLink, pipe

        func place(at part: URL, outside: URL) throws {
            switch self {
            case .hardLink: try FileManager.default.linkItem(at: outside, to: part)
            case .symbolicLink: try FileManager.default.createSymbolicLink(at: part, withDestinationURL: outside)
            case .danglingLink:
                try FileManager.default.createSymbolicLink(
                    at: part, withDestinationURL: outside.appendingPathExtension("missing"))
            case .pipe: #expect(mkfifo(part.path, 0o600) == 0)
            }
        }
    }

    @Test("An upload does not follow a link or pipe in place of its partial file", arguments: Squatter.allCases)
    func squatters(_ squatter: Squatter) async throws {
        try await withStorage { storage, folder in
            let space = folder.child("space")
            try FileManager.default.createDirectory(at: space, withIntermediateDirectories: false)
            let outside = folder.deletingLastPathComponent().child("outside")
            try Data("of somebody else".utf8).write(to: outside)
            try squatter.place(at: space.child(".content.part"), outside: outside)
            try await upload(content, to: storage)
            #expect(try Data(contentsOf: space.child("content")) == Data(content))
            #expect(try names(in: space) == ["content"])
            #expect(try Data(contentsOf: outside) == Data("of somebody else".utf8))
            #expect(try names(in: folder.deletingLastPathComponent()).sorted() == ["outside", "storage"])

            try squatter.place(at: space.child(".content.part"), outside: outside)
            try await storage.delete(ObjectKey("space/content"), abandoning: nil)
            #expect(try names(in: space) == [])
            #expect(try Data(contentsOf: outside) == Data("of somebody else".utf8))
        }
    }

    @Test("An upload in progress is not visible")
    func nothingUnfinishedIsSeen() async throws {
        try await withStorage { storage, folder in
            let upload = HeldUpload(content, to: try ObjectKey("space/content"), of: storage)
            await upload.waitUntilHeld()
            #expect(try names(in: folder.child("space")) == [".content.part"])
            #expect(try await storage.list(ListRequest(prefix: "")).objects == [])
            await #expect(throws: StorageError.self) { try await storage.head(ObjectKey("space/content")) }
            upload.release()
            _ = try await upload.value
            #expect(try await storage.list(ListRequest(prefix: "")).objects.map(\.key.rawValue) == ["space/content"])
        }
    }

    @Test("An upload is whole if its key is deleted and uploaded again at the same time")
    func removedWhileUploading() async throws {
        try await withStorage { storage, _ in
            let key = try ObjectKey("space/content")
            let first = HeldUpload(content, to: key, of: storage, atReport: 3)
            await first.waitUntilHeld()
            try await storage.delete(key, abandoning: nil)
            let other = SampleBytes.make(700_000, seed: 2)
            let second = Task { try await upload(other, to: storage) }
            first.release()
            _ = try await first.value
            let bytes = try Data(contentsOf: storage.url.child("space").child("content"))
            #expect(bytes == Data(content) || bytes == Data(other), "\(bytes.count) bytes")
            _ = try await second.value
            #expect(try Data(contentsOf: storage.url.child("space").child("content")) == Data(other))
        }
    }

    @Test("The partial file of another upload never becomes visible")
    func foreignPart() async throws {
        try await withStorage { storage, folder in
            let key = try ObjectKey("space/content")
            let part = folder.child("space").child(".content.part")
            let upload = HeldUpload(content, to: key, of: storage, atReport: 3)
            await upload.waitUntilHeld()
            try await storage.delete(key, abandoning: nil)
            if !FileManager.default.fileExists(atPath: part.path) {
                // The name is free, so another upload may start with it.
                try Data([1, 2, 3]).write(to: part)
            }
            upload.release()
            _ = try await upload.value
            #expect(try Data(contentsOf: folder.child("space").child("content")) == Data(content))
        }
    }

    @Test("A cancelled upload ends while it waits for another one to its key")
    func cancelledWhileWaiting() async throws {
        try await withStorage { storage, _ in
            let first = HeldUpload(content, to: try ObjectKey("space/content"), of: storage)
            await first.waitUntilHeld()
            let second = Task { try await upload(SampleBytes.make(5), to: storage) }
            second.cancel()
            let error = await #expect(throws: StorageError.self) { try await second.value }
            #expect(error?.code == .cancelled)
            first.release()
            _ = try await first.value
        }
    }

    @Test("A listing contains no hidden files, no links and no names that are not keys")
    func foreignFiles() async throws {
        try await withStorage { storage, folder in
            try await upload([1], to: storage)
            let space = folder.child("space")
            for name in [".hidden", "UPPER", "with space", "new\nline"] { try Data([1]).write(to: space.child(name)) }
            try FileManager.default.createSymbolicLink(
                at: space.child("link"), withDestinationURL: space.child("content"))
            #expect(try await storage.list(ListRequest(prefix: "")).objects.map(\.key.rawValue) == ["space/content"])
            await #expect(throws: StorageError.self) { try await storage.head(ObjectKey("space")) }
        }
    }

    @Test("Another program and the storage read each other's files")
    func foreignProgram() async throws {
        try await withStorage { storage, folder in
            try await upload(content, as: "ours", to: storage)
            let (theirs, copy) = (folder.child("space").child("theirs"), folder.child("copy"))
            #expect(try runTool("cp", arguments: [folder.child("space").child("ours").path, copy.path]))
            #expect(try runTool("cp", arguments: [copy.path, theirs.path]))
            #expect(try Data(contentsOf: copy) == Data(content))
            let key = try ObjectKey("space/theirs")
            let found = Mutex<[UInt8]>([])
            let object = try await storage.download(
                DownloadRequest(key), into: DownloadSink { piece in found.withLock { $0 += piece } })
            #expect(object.byteCount == Int64(content.count))
            #expect(found.withLock { $0 } == content)
            #expect(
                try await storage.list(ListRequest(prefix: "space/")).objects.map(\.key.rawValue)
                    == ["space/ours", "space/theirs"])
            try await storage.delete(key, abandoning: nil)
            #expect(!FileManager.default.fileExists(atPath: theirs.path))
        }
    }

    @Test("A page limit below 1 counts as 1", arguments: [0, -3])
    func emptyPages(_ limit: Int) async throws {
        try await withStorage { storage, _ in
            for name in ["a", "b"] { try await upload([1], as: name, to: storage) }
            let page = try await storage.list(ListRequest(prefix: "", limit: limit))
            #expect(page.objects.count == 1 && page.next != nil)
        }
    }
}

/// An upload that stops at one of its progress reports until the test releases it.
struct HeldUpload: Sendable {
    private let reports = EventLog<Int64>()
    private let gate = DispatchSemaphore(value: 0)
    private let number: Int
    private let task: Task<RemoteObject, any Error>

    init(_ content: [UInt8], to key: ObjectKey, of storage: any RemoteStorage, atReport number: Int = 1) {
        self.number = number
        let session = UploadSession(onProgress: { [reports, gate] bytes in
            reports.add(bytes)
            // The report runs on a thread for blocking calls, so blocking it does not block other tasks.
            if reports.events.count == number { gate.wait() }
        })
        task = Task { try await storage.upload(.temporary(content), to: key, session: session) }
    }

    func waitUntilHeld() async { await reports.wait { [number] in $0.count >= number } }
    func release() { gate.signal() }
    var value: RemoteObject { get async throws { try await task.value } }
}
