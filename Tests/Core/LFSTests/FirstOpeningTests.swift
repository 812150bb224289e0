import Foundation
import GRDB
import LFSDatabase
import LFSStorage
import LFSSystem
import Testing

@testable import LFS
@testable import LFSFiles

@Suite("First opening of a database", .timeLimit(.minutes(10)))
struct FirstOpeningTests {
    private func databaseID(_ host: TestHost) throws -> String {
        try host.database.read { try String.fetchOne($0, sql: "SELECT databaseID FROM lfs_state") ?? "" }
    }

    private func setGeneration(_ generation: Int64, host: TestHost) async throws {
        try await host.database.write { db in
            try db.execute(sql: "UPDATE lfs_state SET generation = ?", arguments: [generation])
        }
    }

    private func number(_ key: String, host: TestHost) throws -> Int64? {
        let marker = try Data(contentsOf: host.store.appendingPathComponent("lfs.json"))
        let json = try #require(try JSONSerialization.jsonObject(with: marker) as? [String: Any])
        return (json[key] as? NSNumber)?.int64Value
    }

    private func isCopy(_ host: TestHost) throws -> (doubts: Bool, madeFor: Int64?) {
        (try host.count("lfs_state WHERE sweepsFrom > 0") == 1, try number("madeFor", host: host))
    }

    @Test("An interrupted first opening does not look like a copied database", arguments: [0, 1])
    func killed(_ generation: Int64) async throws {
        try await withHost { host in
            _ = try LocalStore(at: host.store.path, databaseID: databaseID(host), generation: 0)
            try await setGeneration(generation, host: host)
            for _ in 0..<2 { try await withManager(host) { _ in } }
            #expect(try isCopy(host) == (false, 1))
        }
    }

    @Test("An opening that ends after its count does not look like another folder")
    func killedAfterCount() async throws {
        try await withHost { host in
            for _ in 0..<2 { try await withManager(host) { _ in } }
            let store = try LocalStore(at: host.store.path, databaseID: databaseID(host), generation: 2)
            let opening = GenerationCount(runner: BackgroundRunner(host.database), store: store, wallClock: { Date() })
            #expect(try await opening.count(isAlone: true) == 3)
            #expect(try number("generation", host: host) == 2)
            try await withManager(host) { lfs in try await #expect(lfs.absentFolders().isEmpty) }
            #expect(try !store.followsAnother())
            #expect(try number("generation", host: host) == 4)
        }
    }

    @Test("The use of another folder is detected after an interrupted opening")
    func elsewhereBetween() async throws {
        try await withHost { host in
            var options = host.options
            options.localStore = host.folder.appendingPathComponent("elsewhere")
            try await withManager(host) { _ in }
            try await withManager(host, options: options) { _ in }
            let store = try LocalStore(at: host.store.path, databaseID: databaseID(host), generation: 2)
            let opening = GenerationCount(runner: BackgroundRunner(host.database), store: store, wallClock: { Date() })
            _ = try await opening.count(isAlone: true)
            try await withManager(host) { lfs in try await #expect(!lfs.absentFolders().isEmpty) }
        }
    }

    /// An observer that lets every commit fail.
    private final class Refusal: TransactionObserver, Sendable {
        func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { false }
        func databaseDidChange(with event: DatabaseEvent) {}
        func databaseWillCommit() throws { throw CocoaError(.fileWriteUnknown) }
        func databaseDidCommit(_ db: Database) {}
        func databaseDidRollback(_ db: Database) {}
    }

    @Test("The use of another folder is detected after an opening whose count failed")
    func elsewhereAfterFailure() async throws {
        try await withHost { host in
            var options = host.options
            options.localStore = host.folder.appendingPathComponent("elsewhere")
            for _ in 0..<2 { try await withManager(host) { _ in } }
            let store = try LocalStore(at: host.store.path, databaseID: databaseID(host), generation: 2)
            let opening = GenerationCount(runner: BackgroundRunner(host.database), store: store, wallClock: { Date() })
            let refusal = Refusal()
            host.database.add(transactionObserver: refusal)
            await #expect(throws: CocoaError.self) { _ = try await opening.count(isAlone: true) }
            host.database.remove(transactionObserver: refusal)
            #expect(try number("announced", host: host) == 3)
            try #expect(host.count("lfs_state WHERE generation = 2") == 1)
            // The other folder now counts the opening with the announced number.
            try await withManager(host, options: options) { _ in }
            try #expect(host.count("lfs_state WHERE generation = 3") == 1)
            try await withManager(host) { lfs in try await #expect(!lfs.absentFolders().isEmpty) }
        }
    }

    @Test("An opening whose count failed does not look like another folder")
    func failure() async throws {
        try await withHost { host in
            for _ in 0..<2 { try await withManager(host) { _ in } }
            let store = try LocalStore(at: host.store.path, databaseID: databaseID(host), generation: 2)
            try store.announce(generation: 3, barrier: StoreMarker.makeBarrier())
            for _ in 0..<2 {
                try await withManager(host) { lfs in try await #expect(lfs.absentFolders().isEmpty) }
            }
            #expect(try !store.followsAnother())
        }
    }

    @Test("Two concurrent first openings do not look like a copied database")
    func together() async throws {
        try await withHost { host in
            // The second process has made its check and waits for the open lock of the first.
            let second = try LocalStore(at: host.store.path, databaseID: databaseID(host), generation: 0)
            let other = try host.otherDatabase()
            try await withManager(host, on: other) { _ in
                let runner = BackgroundRunner(host.database)
                try await GenerationCount(runner: runner, store: second, wallClock: { Date() }).advance()
                #expect(try isCopy(host) == (false, 1))
                try #expect(host.count("lfs_state WHERE generation = 2") == 1)
            }
            try other.close()
        }
    }

    @Test("Two concurrent first openings keep the marker of the first process")
    func markerOfTheFirst() async throws {
        try await withHost { host in
            let store = try LocalStore(at: host.store.path, databaseID: databaseID(host), generation: 0)
            try store.mark(generation: 1)
            let seen = try StoreMarker.make(
                in: store.directory, through: store.incoming, databaseID: databaseID(host), openings: 7)
            #expect(seen.madeFor == 1)
            #expect(seen.generation == 1)
            #expect(try store.currentMarker().generation == 1)
            try #expect(host.namesInIncoming() == [])
        }
    }

    @Test("Many concurrent openings run one after the other without seeing a copy")
    func many() async throws {
        for _ in 0..<10 {
            try await withHost { host in
                let databases = try (0..<4).map { _ in try host.otherDatabase() }
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for database in databases {
                        group.addTask { try await withManager(host, on: database, starts: false) { _ in } }
                    }
                    try await group.waitForAll()
                }
                for database in databases { try database.close() }
                #expect(try isCopy(host) == (false, 1))
                try #expect(host.count("lfs_state WHERE generation = 4") == 1)
                #expect(try number("generation", host: host) == 4)
            }
        }
    }

    @Test("Opening a copied database in another folder is detected, even when interrupted", arguments: [5, 6])
    func copy(_ generation: Int64) async throws {
        try await withHost { host in
            try await setGeneration(5, host: host)
            _ = try LocalStore(at: host.store.path, databaseID: databaseID(host), generation: 5)
            try await setGeneration(generation, host: host)
            try await withManager(host) { _ in }
            #expect(try isCopy(host) == (true, 6))
        }
    }

    @Test("An abandoned opening looks like a copy if files were stored elsewhere since")
    func elsewhere() async throws {
        try await withHost { host in
            _ = try LocalStore(at: host.store.path, databaseID: databaseID(host), generation: 0)
            var options = host.options
            options.localStore = host.folder.appendingPathComponent("elsewhere")
            try await withManager(host, options: options) { lfs in _ = try await keptFiles(1, host: host, lfs: lfs) }
            try await withManager(host) { _ in }
            try #expect(isCopy(host).doubts)
        }
    }
}
