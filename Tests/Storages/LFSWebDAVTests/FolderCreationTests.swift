import LFSHTTP
import LFSStorage
import LFSTesting
import Testing

@testable import LFSWebDAV

@Suite("Creation of the folder of a WebDAV storage", .timeLimit(.minutes(10)))
struct FolderCreationTests {
    @Test("A missing folder is created once, and objects can be uploaded to it")
    func created() async throws {
        let fake = FakeDAV()
        let storage = try fake.storage(at: "/dav/mine")
        #expect(try await storage.createIfMissing())
        #expect(try await storage.createIfMissing() == false)
        #expect(fake.requests.map(\.target) == ["/dav/mine/", "/dav/mine/"])
        let key = try ObjectKey("space/file")
        _ = try await storage.upload(.temporary([1]), to: key, session: UploadSession())
        #expect(try await storage.contents(key) == [1])
    }

    @Test("A missing parent folder is a misconfiguration")
    func noParent() async throws {
        let storage = try FakeDAV().storage(at: "/dav/none/mine")
        let error = try await storageError { try await storage.createIfMissing() }
        #expect(error?.code == .misconfigured && error?.message.contains("parent") == true)
    }

    @Test("A refusal to create the folder is an error")
    func forbidden() async throws {
        let storage = try FakeDAV { _, _ in FakeDAV.Answer(status: 403) }.storage(at: "/dav/mine")
        #expect(try await storageError { try await storage.createIfMissing() }?.code == .forbidden)
    }
}
