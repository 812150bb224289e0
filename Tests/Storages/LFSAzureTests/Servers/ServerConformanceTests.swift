import LFSStorage
import LFSSystem
import LFSTesting
import Testing

@testable import LFSAzure

/// Tests of the storage contract against the stand-in, which foreign clients also use.
@Suite("Storage contract of Azure", .enabled(if: AzureServer.isAvailable), .timeLimit(.minutes(10)))
struct ServerConformanceTests {
    private static let turns = AsyncSemaphore(4)

    @Test(
        "Azure uploads in one request meet the storage contract", arguments: AzureServer.all, StorageConformance.checks)
    func inOne(_ server: AzureServer, check: StorageCheck) async throws {
        try await run(check, on: server.place().storage())
    }

    @Test("Azure uploads in blocks meet the storage contract", arguments: AzureServer.all, StorageConformance.checks)
    func inBlocks(_ server: AzureServer, check: StorageCheck) async throws {
        try await run(
            check,
            on: server.place().storage(prefix: "below/a b") {
                $0.multipartThreshold = 1
                $0.partSize = 1 << 20
            })
    }

    @Test("A container's SAS meets the storage contract", arguments: AzureServer.all, StorageConformance.checks)
    func signed(_ server: AzureServer, check: StorageCheck) async throws {
        let place = try await server.place()
        let signature = place.signature(permissions: "rcwdl")
        try await run(check, on: place.storage(.sas { signature }))
    }

    private func run(_ check: StorageCheck, on storage: AzureStorage) async throws {
        try await Self.turns.withPermit { try await check.run(against: storage) }
        await storage.shutdown()
    }
}
