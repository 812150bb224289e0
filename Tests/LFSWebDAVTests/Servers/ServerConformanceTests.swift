import LFSStorage
import LFSSystem
import LFSTesting
import TestSupport
import Testing

@testable import LFSWebDAV

/// Every rule of the storage contract, against servers that nobody here wrote.
@Suite("The storage contract is kept by WebDAV", .enabled(if: DAVServer.areThere), .timeLimit(.minutes(10)))
struct ServerConformanceTests {
    @Test("by the server's word", arguments: DAVServer.all, StorageConformance.checks)
    func byWord(_ server: DAVServer, _ check: StorageCheck) async throws {
        try await run(check, on: server, server.storage())
    }

    @Test("by reading back", arguments: DAVServer.all, StorageConformance.checks)
    func readingBack(_ server: DAVServer, _ check: StorageCheck) async throws {
        try await run(check, on: server, server.storage { $0.readsBack = true })
    }

    private static let turns = Permits(3)

    private func run(_ check: StorageCheck, on server: DAVServer, _ storage: WebDAVStorage) async throws {
        try await Self.turns.withPermit {
            if let reason = server.sometimesDeviates[check.name] {
                await withKnownIssue("\(server.name): \(reason)", isIntermittent: true) {
                    try await check.run(against: storage)
                }
            } else {
                try await check.run(against: storage)
            }
        }
        await storage.shutdown()
    }
}
