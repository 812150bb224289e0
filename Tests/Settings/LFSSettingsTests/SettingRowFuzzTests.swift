import Foundation
import GRDB
import LFSSettings
import TestSupport
import Testing

/// The rows of settings are untrusted: other programs may write any values that the checks of the tables accept.
@Suite("Random values in rows of settings", .timeLimit(.minutes(20)))
struct SettingRowFuzzTests {
    private static let kept: StorageKey<Int> = Store.database.key("kept", default: 1)
    private static let sealed: StorageKey<String> = Store.encrypted.key("sealed", default: "none")
    private static let filed: StorageKey<String> = Store.file.key("filed", default: "none")

    private func open(_ place: Place) async throws -> StorageRouter {
        try await place.open {
            Self.kept
            Self.sealed
            Self.filed
        }
    }

    /// Sets each value, and rotates nothing, so that every table of settings has rows.
    private func prepare(_ place: Place) async throws {
        let storage = try await open(place)
        try await storage.set(2, for: Self.kept)
        try await storage.set("secret", for: Self.sealed)
        try await storage.set("text", for: Self.filed)
        try await storage.stop()
    }

    /// Makes the usual calls. Each may throw a typed error.
    private func use(_ place: Place) async {
        await tolerated {
            let storage = try await open(place)
            await tolerated { _ = try await storage.get(Self.kept) }
            await tolerated { _ = try await storage.get(Self.sealed) }
            await tolerated { _ = try await storage.get(Self.filed) }
            await tolerated { _ = try await storage.audit() }
            await tolerated { try await storage.set(3, for: Self.kept) }
            await tolerated { try await storage.set("new", for: Self.sealed) }
            await tolerated { try await storage.set("new", for: Self.filed) }
            await tolerated { try await storage.stop() }
        }
    }

    private func tolerated(_ body: () async throws -> Void) async {
        do {
            try await body()
        } catch {
            #expect(error is SettingsError || error is DatabaseError || error is RowDecodingError, "\(error)")
        }
    }

    @Test("Random values in any row of settings cause at most typed errors")
    func anyValue() async throws {
        let environment = ProcessInfo.processInfo.environment
        let rounds = environment["LFS_FUZZ_ROUNDS"].flatMap(Int.init) ?? 20
        var random = SeededGenerator(seed: environment["LFS_FUZZ_SEED"].flatMap(UInt64.init) ?? 42)
        var written = 0
        for _ in 0..<rounds {
            let seed = random.next()
            try await withPlace { place in
                try await prepare(place)
                written += try await scribble(4, seed: seed, database: place.database)
                await use(place)
            }
        }
        #expect(written > rounds)
    }

    /// Writes random values.
    ///
    /// - Returns: the number of statements that changed a row.
    private func scribble(_ count: Int, seed: UInt64, database: any DatabaseWriter) async throws -> Int {
        try await database.writeWithoutTransaction { db in
            var random = SeededGenerator(seed: seed)
            let columns = try Row.fetchAll(
                db,
                sql: """
                    SELECT m.name, c.name FROM sqlite_master m, pragma_table_info(m.name) c
                    WHERE m.type = 'table' AND m.name LIKE 'lfs\\_setting%' ESCAPE '\\' ORDER BY 1, 2
                    """
            ).map { (table: $0[0] as String, column: $0[1] as String) }
            var written = 0
            for _ in 0..<count {
                let (table, column) = columns[random.next(below: columns.count)]
                do {
                    try db.execute(
                        sql: "UPDATE OR IGNORE \(table) SET \"\(column)\" = ?", arguments: [Self.value(random: &random)]
                    )
                    written += db.changesCount > 0 ? 1 : 0
                } catch is DatabaseError {
                    continue  // a check of the table
                }
            }
            return written
        }
    }

    private static func value(random: inout SeededGenerator) -> DatabaseValue {
        let numbers: [Int64] = [.min, .max, -1, 0, 1, 1 << 31, 1 << 53]
        let doubles = [Double.infinity, -.infinity, .nan, 0.5, 1e300]
        let texts = [
            "", "json", "data", "current", "retired", "kept", "sealed", "app", "{}", "x\ny", "\u{0}", "sealedFile:",
            "0197b214-ba2c-7c71-89d1-4bbb56a51d06", "no/folder", String(repeating: "x", count: 5_000),
        ]
        switch random.next(below: 8) {
        case 0: return .null
        case 1, 2: return numbers[random.next(below: numbers.count)].databaseValue
        case 3: return doubles[random.next(below: doubles.count)].databaseValue
        case 4, 5: return Data((0..<random.next(below: 64)).map { UInt8($0) }).databaseValue
        default: return texts[random.next(below: texts.count)].databaseValue
        }
    }
}
