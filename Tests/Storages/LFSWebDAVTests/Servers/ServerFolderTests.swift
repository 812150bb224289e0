import Foundation
import LFSHTTP
import LFSStorage
import LFSTesting
import TestSupport
import Testing

@testable import LFSWebDAV

@Suite("Creation of a folder on a WebDAV server", .enabled(if: DAVServer.isAvailable), .timeLimit(.minutes(10)))
struct ServerFolderTests {
    @Test("A missing folder is created once, and stores objects", arguments: DAVServer.all)
    func created(_ server: DAVServer) async throws {
        let storage = try WebDAVStorage(
            url: server.endpoint.appending(path: "new \(UUID().uuidString)"),
            credentials: .basic(user: server.accessKey, password: server.secretKey), options: plainOptions())
        let key = try ObjectKey("0f3a/0199-7e")
        let bytes = SampleBytes.make(10_000)
        #expect(try await storage.createIfMissing())
        try await withKnownIssue("\(server.name) accepts a MKCOL of an existing folder") {
            try await #expect(storage.createIfMissing() == false)
        } when: {
            !server.refusesExistingFolders
        }
        _ = try await storage.upload(.temporary(bytes), to: key, session: UploadSession())
        #expect(try await storage.contents(key) == bytes)
        try await storage.delete(key, abandoning: nil)
        #expect(try await storageError { try await storage.head(key) }?.code == .missing)
        let client = storage.client
        // SeaweedFS removes empty folders only.
        for folder in client.place.folders(of: key).reversed() + [client.place.root] {
            _ = try await client.send(client.request(.delete, path: folder), about: nil)
        }
        #expect(try await storageError { try await storage.head(key) }?.code == .misconfigured)
        await storage.shutdown()
    }
}
