import LFSStorage
import LFSTesting
import Synchronization
import Testing

@testable import LFSSignedURL

@Suite("The storage contract is kept by signed URLs", .timeLimit(.minutes(10)))
struct ContractTests {
    // The cancelled ones need a network that takes its time.
    private static let checks = StorageConformance.checks.filter { !$0.name.contains("on its way") }

    @Test("on a store that tells checksums", arguments: checks)
    func proven(_ check: StorageCheck) async throws { try await check.run(against: FakeSigner().storage()) }

    @Test("on a store that tells nothing of the bytes", arguments: checks)
    func confirmed(_ check: StorageCheck) async throws {
        let fake = FakeSigner()
        fake.state.withLock { $0.proves = false }
        try await check.run(against: fake.storage())
    }

    @Test("in parts", arguments: checks)
    func inParts(_ check: StorageCheck) async throws {
        let fake = FakeSigner()
        fake.cut(from: 1, partSize: 40_000)
        try await check.run(against: fake.storage())
    }
}
