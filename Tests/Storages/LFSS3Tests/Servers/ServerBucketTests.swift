import Foundation
import LFSHTTP
import LFSStorage
import LFSTesting
import TestSupport
import Testing

@testable import LFSS3

@Suite("Creation of a bucket on a server", .enabled(if: TestServer.isAvailable), .timeLimit(.minutes(10)))
struct ServerBucketTests {
    @Test("A missing bucket is created once, and stores objects", arguments: TestServer.all)
    func created(_ server: TestServer) async throws {
        let storage = try S3Storage(
            bucket: "lfs-new-\(UUID().uuidString.lowercased())", region: server.region, endpoint: server.endpoint,
            addressing: .path, credentials: .static(server.credentials), options: server.options())
        let key = try TestServer.newKey()
        let bytes = SampleBytes.make(10_000)
        #expect(try await storage.createIfMissing())
        #expect(try await storage.createIfMissing() == false)
        _ = try await storage.upload(.temporary(bytes), to: key, session: .init())
        try await #expect(storage.contents(key) == bytes)
        try await storage.delete(key, abandoning: nil)
        let error = try await storageError { try await storage.head(key) }
        #expect(error?.isMissing == true)
        // "DeleteBucket" of the Amazon S3 API reference.
        _ = try await storage.client.send(S3Request(.delete))
        await storage.shutdown()
    }
}
