import LFSS3
import LFSStorage
import LFSSystem
import LFSTesting
import TestSupport
import Testing

/// Tests of the storage contract against third-party servers.
@Suite("Storage contract of S3 servers", .enabled(if: TestServer.isAvailable), .timeLimit(.minutes(10)))
struct ServerConformanceTests {
    @Test(
        "An S3 server by its profile meets the storage contract", arguments: TestServer.all, StorageConformance.checks)
    func byProfile(_ server: TestServer, check: StorageCheck) async throws {
        try await run(check, on: server, storage: server.storage(prefix: "conformance/a b+c/ü"))
    }

    @Test("An unknown S3 server meets the storage contract", arguments: TestServer.all, StorageConformance.checks)
    func unknown(_ server: TestServer, check: StorageCheck) async throws {
        try await run(check, on: server, storage: server.storage { $0.provider = nil })
    }

    /// Every upload is split into parts. The last part may have any size.
    @Test(
        "Multipart meets the contract", arguments: TestServer.all.filter(\.speaksMultipart), StorageConformance.checks)
    func inParts(_ server: TestServer, check: StorageCheck) async throws {
        try await run(check, on: server, storage: server.storage { $0.multipartThreshold = 1 })
    }

    /// The keys have the package's form: a namespace and a file's id.
    @Test("Listings of S3 servers are in key order for every page size", arguments: TestServer.all)
    func order(_ server: TestServer) async throws {
        let storage = try await server.storage(prefix: "order")
        let keys = try (0..<24).map { try ObjectKey("0f\($0 % 3)a/0199-\(100 + $0 * 7 % 24)-7e") }
        for key in keys { _ = try await storage.upload(.temporary([1]), to: key, session: UploadSession()) }
        for limit in [1, 5, 24] {
            var found: [ObjectKey] = []
            var request = ListRequest(prefix: "", limit: limit)
            repeat {
                let page = try await storage.list(request)
                #expect(page.objects.count <= limit)
                found += page.objects.map(\.key)
                request.continuation = page.next
            } while request.continuation != nil
            #expect(found == keys.sorted { $0.rawValue.utf8.lexicographicallyPrecedes($1.rawValue.utf8) })
        }
        await storage.shutdown()
    }

    /// With more concurrent tests, a server on two cores throttles requests. Only the transfer queue handles that.
    private static let turns = AsyncSemaphore(3)

    private func run(_ check: StorageCheck, on server: TestServer, storage: S3Storage) async throws {
        try await Self.turns.withPermit { try await runAlone(check, on: server, storage: storage) }
    }

    private func runAlone(_ check: StorageCheck, on server: TestServer, storage: S3Storage) async throws {
        // Some servers list in the order of folders instead of keys.
        let isKnown = server.knownDeviations.contains(check.name)
        if isKnown {
            await withKnownIssue("listed in the order of folders") { try await check.run(against: storage) }
        } else if let message = server.sometimesDeviatesIn[check.name] {
            try await withKnownIssue("an object is looked up and then opened", isIntermittent: true) {
                try await check.run(against: storage)
            } matching: { issue in
                message.isEmpty || issue.error.map { "\($0)".contains(message) } == true
            }
        } else {
            try await check.run(against: storage)
        }
        await storage.shutdown()
    }
}
