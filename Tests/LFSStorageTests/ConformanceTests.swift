import Foundation
import LFSStorage
import LFSTesting
import TestSupport
import Testing

/// Every storage of this package keeps every rule of the contract.
@Suite("The storage contract", .timeLimit(.minutes(10)))
struct ConformanceTests {
    @Test("is kept by the storage in memory", arguments: StorageConformance.checks)
    func inMemory(_ check: StorageCheck) async throws {
        let storage = InMemoryStorage()
        try await check.run(against: storage)
        #expect(storage.keys.isEmpty, "a check removes what it stored")
    }

    @Test("is kept by a folder", arguments: StorageConformance.checks)
    func directory(_ check: StorageCheck) async throws {
        try await withTemporaryFolder { folder in
            let storage = try DirectoryStorage(at: folder.child("storage"))
            try await check.run(against: storage)
            let left = FileManager.default.enumerator(at: folder.child("storage"), includingPropertiesForKeys: nil)?
                .compactMap { $0 as? URL }.filter { !$0.hasDirectoryPath }
            #expect(left == [], "a check leaves no file, not even an unfinished one")
        }
    }

    @Test("is kept behind retry, limits and a slow network", arguments: StorageConformance.checks)
    func decorated(_ check: StorageCheck) async throws {
        let slow = SlowStorage(InMemoryStorage(), delay: .zero, clock: ContinuousClock())
        let limited = LimitedStorage(RetryingStorage(slow), concurrentCalls: 2)
        try await check.run(against: GatedStorage(limited, isOpen: true))
    }

    @Test("has checks with names of their own")
    func names() {
        #expect(Set(StorageConformance.checks.map(\.name)).count == StorageConformance.checks.count)
    }
}
