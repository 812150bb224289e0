import Foundation
import LFSHTTP
import LFSStorage
import LFSTesting
import TestSupport
import Testing

@testable import LFSAzure

@Suite("Creation of a container on a server", .enabled(if: AzureServer.isAvailable), .timeLimit(.minutes(10)))
struct ServerContainerTests {
    @Test("A missing container is created once, and stores objects", arguments: AzureServer.all)
    func created(_ server: AzureServer) async throws {
        let place = AzureServer.Place(server: server, container: "new-\(UUID().uuidString.lowercased())")
        let storage = try place.storage()
        let key = try ObjectKey("0f3a/0199-7e")
        let bytes = SampleBytes.make(10_000)
        #expect(try await storage.createIfMissing())
        #expect(try await storage.createIfMissing() == false)
        _ = try await storage.upload(.temporary(bytes), to: key, session: UploadSession())
        #expect(try await storage.contents(key) == bytes)
        try await storage.delete(key, abandoning: nil)
        #expect(try await storageError { try await storage.head(key) }?.code == .missing)
        // "Delete Container" of the Blob service REST API.
        _ = try await storage.client.send(AzureRequest(.delete, query: [("restype", "container")]))
        #expect(try await storageError { try await storage.head(key) }?.code == .misconfigured)
        await storage.shutdown()
    }
}
