import Foundation
import LFSStorage
import LFSSystem
import LFSWire
import Synchronization
import TestSupport
import Testing

@testable import LFSSigningServer

@Suite("Folders behind the signing server", .timeLimit(.minutes(10)))
struct FolderStoreTests {
    @Test("A folder whose path now leads to another folder accepts nothing")
    func replaced() async throws {
        try await withService { folder, open, service in
            let (first, second) = (Sample(3_000), Sample(3_000, seed: 2))
            #expect(try await upload(first, key: "space/one", open: open, service: service) == 200)
            let action = try #require(
                try await service.ask(.upload, object: second.object("space/two")).action(for: .upload))
            try FileManager.default.moveItem(at: folder, to: folder.appendingPathExtension("away"))
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
            #expect(try await open.send(action, second.bytes).status == 503)
            #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
            let large = Sample((2 << 20) + 1_000)
            #expect(try await service.ask(.upload, object: large.object("space/large")).error?.code == .unavailable)
            try FileManager.default.removeItem(at: folder)
            try FileManager.default.moveItem(at: folder.appendingPathExtension("away"), to: folder)
            #expect(try await open.send(action, second.bytes).status == 200)
            #expect(try await service.ask(.confirm, object: second.object("space/two")).object != nil)
        }
    }

    @Test("An upload is joined once at a time, and a repeated request has to wait")
    func joining() async throws {
        try await withService { _, open, service in
            let sample = Sample((2 << 20) + 1_000)
            let parts = try #require(try await service.ask(.upload, object: sample.object("space/large")).parts)
            for number in 1...3 {
                let (object, bytes) = sample.part(number, size: parts.partSize, of: parts.upload)
                let action = try #require(try await service.ask(.parts, object: object).action(for: .parts))
                #expect(try await open.send(action, bytes).isSuccess)
            }
            let done = sample.completion(parts.partSize, of: parts.upload)
            let store = try #require(open.backend.folder)
            let name = try #require(try uploadName(store))
            store.joining.withLock { _ = $0.insert(name) }
            let early = try await service.ask(.complete, object: done).error
            #expect(early?.code == .throttled && early?.retryAfter == 5)
            store.joining.withLock { _ = $0.remove(name) }
            #expect(try await service.ask(.complete, object: done).object?.sha256 == Digests.sha256(sample.bytes))
            #expect(store.joining.withLock { $0.isEmpty })
            // Only the reply was lost.
            #expect(try await service.ask(.complete, object: done).object?.sha256 == Digests.sha256(sample.bytes))
            #expect(try await open.service().ask(.complete, object: done).object?.size == Int64(sample.bytes.count))
        }
    }

    @Test("An abandoned upload leaves no object")
    func givenUp() async throws {
        try await withService { folder, open, service in
            let sample = Sample((2 << 20) + 1_000)
            let parts = try #require(try await service.ask(.upload, object: sample.object("space/large")).parts)
            let done = sample.completion(parts.partSize, of: parts.upload)
            var object = SigningObject(key: "space/large")
            object.upload = parts.upload
            #expect(try await service.ask(.delete, object: object) == .done)
            #expect(try await service.ask(.complete, object: done).error?.code == .lostUpload)
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
        _ sample: Sample, key: String, open: OpenStore, service: SigningService
    ) async throws -> Int {
        let action = try #require(try await service.ask(.upload, object: sample.object(key)).action(for: .upload))
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
