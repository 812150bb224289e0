import LFSStorage
import LFSSystem
import LFSTesting
import TestSupport
import Testing

@testable import LFSWebDAV

/// Tests of the storage contract against third-party servers.
@Suite("Storage contract of WebDAV servers", .enabled(if: DAVServer.isAvailable), .timeLimit(.minutes(10)))
struct ServerConformanceTests {
    @Test("A WebDAV server meets the storage contract", arguments: DAVServer.all, StorageConformance.checks)
    func byWord(_ server: DAVServer, check: StorageCheck) async throws {
        try await run(check, on: server, storage: server.storage())
    }

    @Test("A WebDAV server with reading back meets the contract", arguments: DAVServer.all, StorageConformance.checks)
    func readingBack(_ server: DAVServer, check: StorageCheck) async throws {
        try await run(check, on: server, storage: server.storage { $0.readsBack = true })
    }

    private static let turns = AsyncSemaphore(3)

    private func run(_ check: StorageCheck, on server: DAVServer, storage: WebDAVStorage) async throws {
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
