import Foundation
import GRDB
import LFSStorage
import TestSupport
import Testing

@testable import LFSSettings

@Suite("A removal of everything in all stores and on other devices", .serialized, .timeLimit(.minutes(15)))
struct FullResetTests {
    /// As the helper's `everything`: a synced row, an encrypted one, a file, an encrypted one, a secret.
    private static let keys = ["synced", "encrypted", "file", "encryptedFile", "keychain"].map { word in
        let store = Store(rawValue: word) ?? Store.database
        return StorageKey<String>(
            "all.\(word)", domain: store.domain, security: store.security,
            sync: word == "synced" ? .automatic(maxByteCount: 100) : .never)
    }

    /// More operations than a removal has.
    private static let most = 600

    private func open(_ place: Place, _ keychain: KeychainBackend, companions: CompanionOptions) async throws
        -> StorageRouter
    {
        var options = place.options
        (options.keychain, options.companions) = (keychain, companions)
        return try await place.open(options) { Self.keys }
    }

    private func values(_ storage: StorageRouter) async throws -> [String?] {
        var values: [String?] = []
        for key in Self.keys { values.append(try await storage.getIfPresent(key)) }
        return values
    }

    /// - Returns: whether the n-th operation was there to be killed.
    private func run(_ number: Int) async throws -> Bool {
        let (old, none): ([String?], [String?]) = (
            Array(repeating: "old", count: Self.keys.count), Array(repeating: nil, count: Self.keys.count)
        )
        return try await withTemporaryFolder { folder in
            let place = Place(folder: folder, database: try Place.database(in: folder))
            let others = folder.child("others")
            try FileManager.default.createDirectory(
                at: others, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            let other = Place(folder: others, database: try Place.database(in: others))
            let shared = try RemoteStorageTransport(
                try DirectoryStorage(at: folder.child("shared")), prefix: "settings")
            // Another database with the same key chain.
            let beside = try await open(other, place.keychain, companions: CompanionOptions())
            let storage = try await open(place, place.keychain, companions: CompanionOptions([shared]))
            for key in Self.keys {
                try await storage.set("old", for: key)
                try await beside.set("old", for: key)
            }
            try await storage.synchronize()
            let device = try await place.database.read { db in
                try #require(try String.fetchOne(db, sql: "SELECT installID FROM lfs_setting_state"))
            }
            try place.database.close()
            let result = try await HelperRun("everything", in: folder, "synced", "reset").finish(failing: number, .kill)

            let after = Place(folder: folder, database: try Place.database(in: folder))
            let again = try await open(after, place.keychain, companions: CompanionOptions([shared]))
            let found = try await values(again)
            #expect(found == old || found == none, "operation \(number): \(found)")
            // What was published of before does not come back, nor stays published.
            try await again.synchronize()
            #expect(try await values(again) == found, "operation \(number)")
            let published = try CompanionState(
                encoded: try Data(contentsOf: folder.child("shared").child("settings").child(device)),
                limits: CompanionLimits())
            #expect(published.entries.isEmpty == (found == none), "operation \(number)")
            if found == none {
                #expect(try await again.audit().entries.map(\.storedCount) == none.map { _ in 0 }, "\(number)")
            }
            #expect(try await values(beside) == old, "operation \(number)")
            try after.database.close()
            try other.database.close()
            return result.hasFired
        }
    }

    @Test("Killed at each operation, all is there or nothing is, it stays so, and another database's values stay")
    func killed() async throws {
        var count = 0
        for number in 1...Self.most {
            guard try await run(number) else { break }
            count = number
        }
        #expect(count >= 30, "Only \(count) operations were killed.")
        #expect(count < Self.most)
    }
}
