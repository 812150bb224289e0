import LFSS3
import LFSStorage
import LFSTesting
import Testing

/// Every rule of the storage contract, against servers that nobody here wrote.
@Suite("The storage contract is kept by S3", .enabled(if: TestServer.areThere), .timeLimit(.minutes(10)))
struct ServerConformanceTests {
    @Test("on a server by its profile", arguments: TestServer.all, StorageConformance.checks)
    func byProfile(_ server: TestServer, _ check: StorageCheck) async throws {
        let storage = try await server.storage(prefix: "conformance/a b+c/ü")
        try await check.run(against: storage)
        await storage.shutdown()
    }

    @Test("on a server that is not known", arguments: TestServer.all, StorageConformance.checks)
    func unknown(_ server: TestServer, _ check: StorageCheck) async throws {
        let storage = try await server.storage { $0.provider = nil }
        try await check.run(against: storage)
        await storage.shutdown()
    }

    @Test("in parts", arguments: TestServer.all, StorageConformance.checks)
    func inParts(_ server: TestServer, _ check: StorageCheck) async throws {
        // Every upload takes the way of the large ones; the last part may be as small as it likes.
        let storage = try await server.storage { $0.multipartThreshold = 1 }
        try await check.run(against: storage)
        await storage.shutdown()
    }
}
