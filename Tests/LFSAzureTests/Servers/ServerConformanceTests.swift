import LFSStorage
import LFSSystem
import LFSTesting
import Testing

@testable import LFSAzure

/// Every rule of the storage contract, against the stand-in that foreign clients pass their flows on, too.
@Suite("The storage contract is kept by Azure", .enabled(if: AzureServer.areThere), .timeLimit(.minutes(10)))
struct ServerConformanceTests {
    private static let turns = Permits(4)

    @Test("in one request", arguments: AzureServer.all, StorageConformance.checks)
    func inOne(_ server: AzureServer, _ check: StorageCheck) async throws {
        try await run(check, on: server.place().storage())
    }

    @Test("in blocks", arguments: AzureServer.all, StorageConformance.checks)
    func inBlocks(_ server: AzureServer, _ check: StorageCheck) async throws {
        try await run(
            check,
            on: server.place().storage(prefix: "below/a b") {
                $0.multipartThreshold = 1
                $0.partSize = 1 << 20
            })
    }

    @Test("with a signature of the container", arguments: AzureServer.all, StorageConformance.checks)
    func signed(_ server: AzureServer, _ check: StorageCheck) async throws {
        let place = try await server.place()
        let signature = place.signature(permissions: "rcwdl")
        try await run(check, on: place.storage(.sas { signature }))
    }

    private func run(_ check: StorageCheck, on storage: AzureStorage) async throws {
        try await Self.turns.withPermit { try await check.run(against: storage) }
        await storage.shutdown()
    }
}
