import Foundation
import GRDB
import LFSSettings
import TestSupport
import Testing

@Suite("Repeated kills of a settings process", .serialized, .timeLimit(.minutes(60)))
struct RepeatedKillTests {
    /// The number of kills. `LFS_SETTINGS_KILLS` sets another one, and `LFS_SETTINGS_KILLS_SEED` another series of
    /// operations.
    private static let kills = number("LFS_SETTINGS_KILLS") ?? 40
    private static let seed = number("LFS_SETTINGS_KILLS_SEED") ?? 1
    private static let stores: [Store] = [.durable, .file, .keychain, .encryptedFile]
    /// The number of sets of a run that is not killed.
    private static let sets = 40

    private static func number(_ name: String) -> Int? { ProcessInfo.processInfo.environment[name].flatMap { Int($0) } }

    /// Each run starts with the state that the last kill left, such as a log to recover or an unnamed file.
    @Test("Each reported set survives repeated kills, and an interrupted one is old or new")
    func kill() async throws {
        let keys: [StorageKey<Int>] = Self.stores.map { $0.key("cut.\($0.rawValue)") }
        var random = SeededGenerator(seed: UInt64(Self.seed))
        try await withTemporaryFolder { folder in
            var (stored, killed, told) = (Array(repeating: Int?.none, count: keys.count), 0, 0)
            var places: Set<Int> = []
            // The number of operations in the last complete run.
            var operations = 0
            while killed < Self.kills {
                // The first run is complete.
                let operation = operations == 0 ? 0 : random.next(below: operations) + 1
                let result = try await HelperRun(
                    "cuts", in: folder, arguments: String(Self.sets), "/dev/null"
                )
                .finish(failing: operation, .kill)
                if result.hasFired {
                    killed += 1
                } else {
                    #expect(result.word == "ok" && result.operations > Self.sets, "\(result.report)")
                    operations = result.operations
                }
                let place = Place(folder: folder, database: try Place.database(in: folder))
                let storage = try await place.open { keys }
                let sets = result.lines.count { $0.hasPrefix("cut.") }
                for (index, key) in keys.enumerated() {
                    // The keys are set in turn, starting at 1 in each run.
                    let last = (sets + keys.count - 1 - index) / keys.count
                    let value = try await storage.getIfPresent(key)
                    let isSetting = sets % keys.count == index && result.hasFired
                    let before = last > 0 ? last : stored[index]
                    #expect(
                        value == before || isSetting && value == last + 1,
                        "\(key.name), operation \(operation) after \(killed) kills: \(result.report)")
                    stored[index] = value
                }
                try place.database.close()
                if result.hasFired { places.insert(operation) }
                told += sets
            }
            print("kills of settings: \(killed), at \(places.count) operations, sets told before: \(told)")
            #expect(told > 0 && places.count > min(Self.kills, operations) / 4)
            let place = Place(folder: folder, database: try Place.database(in: folder))
            let storage = try await place.open { keys }
            for key in keys {
                try await storage.set(-1, for: key)
                #expect(try await storage.get(key) == -1)
            }
            try place.database.close()
            let paths = try FileManager.default.subpathsOfDirectory(atPath: folder.path)
            #expect(paths.filter { $0.hasSuffix(".unfinished") } == [])
        }
    }
}
