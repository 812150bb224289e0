import Foundation
import LFSStorage
import LFSTesting
import TestSupport
import Testing

/// Tests that every storage of this package follows every rule of the contract.
@Suite("Storage contract", .timeLimit(.minutes(10)))
struct ConformanceTests {
    @Test("The in-memory storage passes every conformance check", arguments: StorageConformance.checks)
    func inMemory(_ check: StorageCheck) async throws {
        let storage = InMemoryStorage()
        try await check.run(against: storage)
        #expect(storage.keys.isEmpty, "a check removes what it stored")
    }

    @Test("A folder as a storage passes every conformance check", arguments: StorageConformance.checks)
    func directory(_ check: StorageCheck) async throws {
        try await withTemporaryFolder { folder in
            let storage = try DirectoryStorage(at: folder.child("storage"))
            try await check.run(against: storage)
            let left = FileManager.default.enumerator(at: folder.child("storage"), includingPropertiesForKeys: nil)?
                .compactMap { $0 as? URL }.filter { !$0.hasDirectoryPath }
            #expect(left == [], "a check leaves no file, not even an unfinished one")
        }
    }

    @Test("A storage behind retries and delays passes every check", arguments: StorageConformance.checks)
    func decorated(_ check: StorageCheck) async throws {
        let slow = SlowStorage(InMemoryStorage(), delay: .zero, clock: ContinuousClock())
        try await check.run(against: GatedStorage(RetryingStorage(slow), isOpen: true))
    }

    @Test("The names of the conformance checks are unique")
    func names() {
        #expect(Set(StorageConformance.checks.map(\.name)).count == StorageConformance.checks.count)
    }
}
