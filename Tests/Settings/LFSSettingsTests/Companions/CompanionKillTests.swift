import Foundation
import GRDB
import LFSSettings
import LFSStorage
import LFSTesting
import TestSupport
import Testing

@Suite("Faults of companion settings", .serialized, .timeLimit(.minutes(15)))
struct CompanionKillTests {
    private static let keys = ["first", "second"].map {
        StorageKey<String>($0, sync: .automatic(maxByteCount: 100))
    }

    /// A bound above the number of operations in a round.
    private static let most = 400

    private func open(_ database: any DatabaseWriter, folder: URL) async throws -> StorageRouter {
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

    /// Runs a round in which a process that has set `first` receives `second` from another device and publishes. The
    /// n-th operation fails.
    ///
    /// - Returns: the result of the process.
    private func run(_ number: Int, kind: HelperRun.Kind) async throws -> HelperRun.Result {
        try await withTemporaryFolder { folder in
            let database = try Place.database(in: folder)
            let other = try await open(try CompanionDevice.newDatabase(), folder: folder)
            let before = try await open(database, folder: folder)
            for key in Self.keys { try await before.set("old", for: key) }
            try await before.synchronize()
            try await other.synchronize()
            try await other.set("theirs", for: Self.keys[1])
            try await other.synchronize()
            try database.close()
            let result = try await HelperRun(
                "flow", in: folder, arguments: "synced", "synchronize", "new"
            )
            .finish(failing: number, kind)
            // A device that joins now must read whole states only.
            let third = try await open(try CompanionDevice.newDatabase(), folder: folder)
            try await third.synchronize()
            #expect(third.companions.first?.problems == [], "operation \(number)")
            let again = try Place.database(in: folder)
            let device = try await open(again, folder: folder)
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

    @Test("A round killed at any operation keeps what was set, and the next one converges")
    func kill() async throws {
        var count = 0
        for number in 1...Self.most {
            guard try await run(number, kind: .kill).hasFired else { break }
            count = number
        }
        // At least two operations on the database and six on the object. The database adds more at its end unless the
        // process ends first.
        #expect(count >= 8, "Only \(count) operations were killed.")
        #expect(count < Self.most)
    }

    @Test("Any failing operation of a round is a typed error, and the next one converges")
    func fail() async throws {
        var words: Set<String> = []
        for kind: HelperRun.Kind in [.EIO, .ENOSPC] {
            for number in 1...Self.most {
                let result = try await run(number, kind: kind)
                words.insert(try #require(result.word, "\(kind) \(number)"))
                if !result.hasFired { break }
            }
        }
        #expect(words.contains("transportFailed"))
        #expect(words.isSubset(of: ["ok", "noSpace", "system", "database", "transportFailed"]), "\(words)")
    }
}
