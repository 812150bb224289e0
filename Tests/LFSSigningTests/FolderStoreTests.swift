import Foundation
import LFSStorage
import LFSSystem
import LFSWire
import Synchronization
import TestSupport
import Testing

@testable import LFSSigning

@Suite("A folder behind the signing server", .timeLimit(.minutes(10)))
struct FolderStoreTests {
    @Test("takes nothing once its path leads to another folder, as when a disk is mounted over it")
    func replaced() async throws {
        try await withService { folder, open, service in
            let (first, second) = (Sample(3_000), Sample(3_000, seed: 2))
            #expect(try await upload(first, "space/one", open, service) == 200)
            let action = try #require(try await service.ask(.upload, second.object("space/two")).action(for: .upload))
            try FileManager.default.moveItem(at: folder, to: folder.appendingPathExtension("away"))
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
            #expect(try await open.send(action, second.bytes).status == 503)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
            let large = Sample((2 << 20) + 1_000)
            #expect(try await service.ask(.upload, large.object("space/large")).error?.code == .unavailable)
            try FileManager.default.removeItem(at: folder)
            try FileManager.default.moveItem(at: folder.appendingPathExtension("away"), to: folder)
            #expect(try await open.send(action, second.bytes).status == 200)
            #expect(try await service.ask(.confirm, second.object("space/two")).object != nil)
        }
    }

    @Test("puts an upload together once at a time, and who comes again meanwhile is told to wait")
    func joining() async throws {
        try await withService { _, open, service in
            let sample = Sample((2 << 20) + 1_000)
            let parts = try #require(try await service.ask(.upload, sample.object("space/large")).parts)
            for number in 1...3 {
                let (object, bytes) = sample.part(number, parts.partSize, of: parts.upload)
                let action = try #require(try await service.ask(.parts, object).action(for: .parts))
                #expect(try await open.send(action, bytes).isSuccess)
            }
            let done = sample.completion(parts.partSize, of: parts.upload)
            let store = try #require(open.backend.folder)
            let name = try #require(try uploadName(store))
            store.joining.withLock { _ = $0.insert(name) }
            let early = try await service.ask(.complete, done).error
            #expect(early?.code == .throttled && early?.retryAfter == 5)
            store.joining.withLock { _ = $0.remove(name) }
            #expect(try await service.ask(.complete, done).object?.sha256 == Digests.sha256(sample.bytes))
            #expect(store.joining.withLock { $0.isEmpty })
            // What was lost is the answer only.
            #expect(try await service.ask(.complete, done).object?.sha256 == Digests.sha256(sample.bytes))
            #expect(try await open.service().ask(.complete, done).object?.size == Int64(sample.bytes.count))
        }
    }

    @Test("makes no object of an upload that was given up")
    func givenUp() async throws {
        try await withService { folder, open, service in
            let sample = Sample((2 << 20) + 1_000)
            let parts = try #require(try await service.ask(.upload, sample.object("space/large")).parts)
            let done = sample.completion(parts.partSize, of: parts.upload)
            var object = SigningObject(key: "space/large")
            object.upload = parts.upload
            #expect(try await service.ask(.delete, object) == .done)
            #expect(try await service.ask(.complete, done).error?.code == .lostUpload)
            #expect(!FileManager.default.fileExists(atPath: folder.appendingPathComponent("space/large").path))
        }
    }

    private func uploadName(_ store: FolderStore) throws -> String? {
        var names: [String] = []
        try store.uploads().forEachFile { name in
            names.append(name)
            return true
        }
        return names.first { UUID(uuidString: $0) != nil }
    }

    private func upload(
        _ sample: Sample, _ key: String, _ open: OpenStore, _ service: SigningService
    ) async throws -> Int {
        let action = try #require(try await service.ask(.upload, sample.object(key)).action(for: .upload))
        return try await open.send(action, sample.bytes).status
    }

    private func withService(_ body: (URL, OpenStore, SigningService) async throws -> Void) async throws {
        try await withTemporaryFolder { outer in
            let folder = outer.appendingPathComponent("objects")
            let secret = try SigningSecret(Data(repeating: 7, count: 32))
            let clock = TestClock(0)
            let backend = try SigningBackend.directory(
                at: folder, publicURL: #require(URL(string: "http://app.example/lfs")), secret: secret,
                parts: FolderPartOptions(threshold: 1 << 20, size: 1 << 20), now: { clock.now })
            let open = OpenStore(backend: backend, secret: secret, clock: clock)
            try await body(folder, open, open.service())
        }
    }
}
