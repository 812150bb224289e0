import Foundation
import GRDB
import LFSSettings
import LFSStorage
import LFSTesting
import TestSupport
import Testing

@Suite("Settings of several devices, killed or failing at any file operation", .serialized, .timeLimit(.minutes(15)))
struct CompanionKillTests {
    private static let keys = ["first", "second"].map {
        StorageKey<String>($0, sync: .automatic(maxByteCount: 100))
    }

    /// More operations than a round has.
    private static let most = 400

    private func open(_ database: any DatabaseWriter, _ folder: URL) async throws -> StorageRouter {
        let transport = try RemoteStorageTransport(try DirectoryStorage(at: folder.child("shared")), prefix: "settings")
        return try await StorageRouter.open(
            database, catalogs: [StorageCatalog("app") { Self.keys }],
            options: StorageOptions(companions: CompanionOptions([transport])))
    }

    private func values(_ storage: StorageRouter) async throws -> [String?] {
        var values: [String?] = []
        for key in Self.keys { values.append(try await storage.getIfPresent(key)) }
        return values
    }

    /// A process that has set `first` takes what another device has of `second`, publishes, and meets a fault in its
    /// n-th operation.
    ///
    /// - Returns: what it said.
    private func run(_ number: Int, _ kind: HelperRun.Kind) async throws -> HelperRun.Result {
        try await withTemporaryFolder { folder in
            let database = try Place.database(in: folder)
            let other = try await open(try CompanionDevice.newDatabase(), folder)
            let before = try await open(database, folder)
            for key in Self.keys { try await before.set("old", for: key) }
            try await before.synchronize()
            try await other.synchronize()
            try await other.set("theirs", for: Self.keys[1])
            try await other.synchronize()
            try database.close()
            let result = try await HelperRun("flow", in: folder, "synced", "synchronize", "new")
                .finish(failing: number, kind)
            // Another device that comes now reads whole states only.
            let third = try await open(try CompanionDevice.newDatabase(), folder)
            try await third.synchronize()
            #expect(third.companions.first?.problems == [], "operation \(number)")
            let again = try Place.database(in: folder)
            let device = try await open(again, folder)
            let found = try await values(device)
            #expect(found == ["new", "old"] || found == ["new", "theirs"], "\(kind) \(number): \(found)")
            for storage in [device, other, third] { try await storage.synchronize() }
            for storage in [device, other, third] {
                #expect(try await values(storage) == ["new", "theirs"], "\(kind) \(number)")
            }
            try again.close()
            return result
        }
    }

    @Test("Killed at each operation of a round, what was set is there, and the next round brings all devices together")
    func kill() async throws {
        var count = 0
        for number in 1...Self.most {
            guard try await run(number, .kill).hasFired else { break }
            count = number
        }
        // Two of the database, and six of the object. Those of the database's end come to them, unless the process ends
        // before it.
        #expect(count >= 8, "Only \(count) operations were killed.")
        #expect(count < Self.most)
    }

    @Test("Each failing operation of a round is a typed error, and the next one brings all devices together")
    func fail() async throws {
        var words: Set<String> = []
        for kind: HelperRun.Kind in [.EIO, .ENOSPC] {
            for number in 1...Self.most {
                let result = try await run(number, kind)
                words.insert(try #require(result.word, "\(kind) \(number)"))
                if !result.hasFired { break }
            }
        }
        #expect(words.contains("transportFailed"))
        #expect(words.isSubset(of: ["ok", "noSpace", "system", "database", "transportFailed"]), "\(words)")
    }
}
