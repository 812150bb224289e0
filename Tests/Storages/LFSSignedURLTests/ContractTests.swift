import LFSStorage
import LFSTesting
import Synchronization
import Testing

@testable import LFSSignedURL

@Suite("Storage contract of signed URLs", .timeLimit(.minutes(10)))
struct ContractTests {
    // The checks of cancellation need a slow network.
    private static let checks = StorageConformance.checks.filter { !$0.name.contains("on its way") }

    @Test("Signed URLs of a store with checksums meet the storage contract", arguments: checks)
    func proven(_ check: StorageCheck) async throws { try await check.run(against: FakeSigner().storage()) }

    @Test("Signed URLs of a store without checksums meet the storage contract", arguments: checks)
    func confirmed(_ check: StorageCheck) async throws {
        let fake = FakeSigner()
        fake.state.withLock { $0.proves = false }
        try await check.run(against: fake.storage())
    }

    @Test("Uploads in parts by signed URLs meet the storage contract", arguments: checks)
    func inParts(_ check: StorageCheck) async throws {
        let fake = FakeSigner()
        fake.cut(from: 1, partSize: 40_000)
        try await check.run(against: fake.storage())
    }
}
