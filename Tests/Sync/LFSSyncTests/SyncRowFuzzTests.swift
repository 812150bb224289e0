import Foundation
import GRDB
import TestSupport
import Testing

@testable import LFSSync

/// The tables of sync are untrusted: other programs may write any values that their checks accept.
@Suite("Random values in rows of sync", .serialized, .timeLimit(.minutes(60)))
struct SyncRowFuzzTests {
    /// Gives a device rows, a pending change, a refused one and a parked row.
    private func prepare(_ device: TestSync.Device) async throws {
        try await device.execute("INSERT INTO recipe (id, title) VALUES ('soup', 'Soup'), ('cake', 'Cake')")
        try await device.sync()
        try await device.execute(
            """
            UPDATE recipe SET title = 'Broth' WHERE id = 'soup';
            INSERT INTO recipe (id, title) VALUES ('tea', 'Tea');
            INSERT INTO lfs_sync_rejection (tableName, key, mutation, code, message)
                VALUES ('recipe', 'cake', '', 'forbidden', 'No');
            INSERT INTO lfs_sync_parked (tableName, scope, key, row, position, reason)
                VALUES ('step', 'account/me', 's', '{"recipeID":"x"}', '', 'it has no recipe');
            """)
    }

    /// Makes all calls that an app can make. Each may throw a typed error.
    private func use(_ device: TestSync.Device) async throws {
        for _ in 0..<2 {
            await tolerated { _ = try await device.client.synchronize() }
            await tolerated { _ = try await device.database.read { try SyncProblem.fetch($0) } }
            await tolerated { _ = try await device.client.verify() }
            await tolerated { try await device.execute("UPDATE recipe SET title = 'Cake 2' WHERE id = 'cake'") }
            await tolerated { try await device.execute("DELETE FROM recipe WHERE id = 'tea'") }
        }
        await tolerated {
            _ = try await TestSync.client(device.database, transport: device.transport, token: device.token)
                .synchronize()
        }
    }

    private func tolerated(_ body: () async throws -> Void) async {
        do {
            try await body()
        } catch {
            #expect(error is SyncError || error is DatabaseError || error is RowDecodingError, "\(error)")
        }
    }

    @Test(
        "Extreme values in a row of sync cause at most typed errors",
        arguments: [
            "UPDATE lfs_sync_state SET sequence = 9223372036854775807",
            "UPDATE lfs_sync_state SET batch = 9223372036854775807",
            "UPDATE lfs_sync_state SET stream = 9223372036854775807",
            "UPDATE lfs_sync_state SET stream = -9223372036854775808",
            "UPDATE lfs_sync_outbox SET sequence = 9223372036854775807",
            "UPDATE lfs_sync_outbox SET sequence = -9223372036854775808, mutation = ''",
            "UPDATE lfs_sync_outbox SET sequence = 1, mutation = '{}', key = x'FF'",
            "UPDATE lfs_sync_outbox SET after = 9223372036854775807",
            "UPDATE lfs_sync_outbox SET after = -9223372036854775808, base = '|||'",
            "UPDATE lfs_sync_checkpoint SET token = 'x', isAcknowledged = 0",
            "UPDATE lfs_sync_checkpoint SET scope = 'account/other', isAcknowledged = 0",
            "UPDATE lfs_sync_rejection SET tableName = x'FF', key = x'FF', message = x'FF'",
        ])
    func extremes(_ sql: String) async throws {
        try await TestSync.run(isQuick: true) { sync in
            let device = try await sync.device("one", isQuick: true)
            try await prepare(device)
            try await device.execute(sql)
            try await use(device)
        }
    }

    @Test("Random values in rows of sync cause at most typed errors")
    func anyValue() async throws {
        let environment = ProcessInfo.processInfo.environment
        let rounds = environment["LFS_FUZZ_ROUNDS"].flatMap(Int.init) ?? 20
        var random = SeededGenerator(seed: environment["LFS_FUZZ_SEED"].flatMap(UInt64.init) ?? 42)
        var written = 0
        for _ in 0..<rounds {
            let seed = random.next()
            try await TestSync.run(isQuick: true) { sync in
                let device = try await sync.device("one", isQuick: true)
                try await prepare(device)
                written += try await scribble(20, seed: seed, database: device.database)
                try await use(device)
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
                    WHERE m.type = 'table' AND m.name LIKE 'lfs\\_sync\\_%' ESCAPE '\\' ORDER BY 1, 2
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
            "", "put", "patch", "delete", "recipe", "soup", "cake", "account/me", "|||", "RecipeV1", "{}", "[1]", "{",
            "RecipeV1|account/me|0197b214-ba2c-7c71-89d1-4bbb56a51d06|9223372036854775807", "x\ny", "\u{0}",
            "0197b214-ba2c-7c71-89d1-4bbb56a51d06", #"{"id":"soup","title":1e999}"#,
            String(repeating: "x", count: 5_000),
        ]
        switch random.next(below: 8) {
        case 0: return .null
        case 1, 2: return numbers[random.next(below: numbers.count)].databaseValue
        case 3: return doubles[random.next(below: doubles.count)].databaseValue
        case 4: return Data([0xFF, 0xFE, 0x00]).databaseValue
        default: return texts[random.next(below: texts.count)].databaseValue
        }
    }
}
