import Foundation
import GRDB
import LFSStorage
import TestSupport
import Testing

@testable import LFSSettings

@Suite("Full resets", .serialized, .timeLimit(.minutes(15)))
struct FullResetTests {
    /// The keys of the helper's command `everything`: a synced row, an encrypted row, a file, an encrypted file and a
    /// secret.
    private static let keys = ["synced", "encrypted", "file", "encryptedFile", "keychain"].map { word in
        let store = Store(rawValue: word) ?? Store.database
        return StorageKey<String>(
            "all.\(word)", domain: store.domain, security: store.security,
            sync: word == "synced" ? .automatic(maxByteCount: 100) : .never)
    }

    /// A bound above the number of operations in a removal.
    private static let most = 600

    private func open(_ place: Place, keychain: KeychainBackend, companions: CompanionOptions) async throws
        -> StorageRouter
    {
        var options = place.options
        options.keychain = keychain
        options.companions = companions
        return try await place.open(options) { Self.keys }
    }

    private func values(_ storage: StorageRouter) async throws -> [String?] {
        var values: [String?] = []
        for key in Self.keys { values.append(try await storage.getIfPresent(key)) }
        return values
    }

    /// Runs a removal that is killed at the n-th operation.
    ///
    /// - Returns: false if the removal had fewer operations.
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
            // Another database that uses the same key chain.
            let beside = try await open(other, keychain: place.keychain, companions: CompanionOptions())
            let storage = try await open(place, keychain: place.keychain, companions: CompanionOptions([shared]))
            for key in Self.keys {
                try await storage.set("old", for: key)
                try await beside.set("old", for: key)
            }
            try await storage.synchronize()
            let device = try await place.database.read { db in
                try #require(try String.fetchOne(db, sql: "SELECT installID FROM lfs_setting_state"))
            }
            try place.database.close()
            let result = try await HelperRun("everything", in: folder, arguments: "synced", "reset").finish(
                failing: number, .kill)

            let after = Place(folder: folder, database: try Place.database(in: folder))
            let again = try await open(after, keychain: place.keychain, companions: CompanionOptions([shared]))
            let found = try await values(again)
            #expect(found == old || found == none, "operation \(number): \(found)")
            // Earlier published values neither return nor stay published.
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

    @Test("A reset killed at any operation is all or nothing and spares other databases")
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
