import Foundation
import LFSServerPostgres
import Testing

@testable import LFSSyncServer
@testable import LFSWire

@Suite("Identical output of both databases", .timeLimit(.minutes(10)))
struct SameLinesTests {
    /// Numbers at which the text form of numbers changes, and random ones.
    private static let numbers: [Double] = {
        var numbers: [Double] = [
            0, -0.0, 1, 0.1, 1e15, 1e16, 1e-4, 1e-5, 0x1p53, 0x1p53 + 2, 0x1p53 - 1, .leastNonzeroMagnitude, .infinity,
        ]
        numbers += [.greatestFiniteMagnitude, .leastNormalMagnitude, -.infinity, 1_000_000_000_000_000.5, 123_456.789]
        numbers += (-1_074...1_023).flatMap { [scalbn(1, $0), -scalbn(1, $0).nextUp, scalbn(1, $0).nextDown] }
        numbers += (-30...30).flatMap { [pow(10, Double($0)), 3 * pow(10, Double($0)) - 1] }
        var random = SystemRandomNumberGenerator()
        numbers += (0..<5_000).map { _ in Double(bitPattern: random.next()) }.filter(\.isFinite)
        numbers += (0..<5_000).map { _ in Double.random(in: -1e4...1e4, using: &random) }
        numbers += (0..<5_000).map { _ in (Double.random(in: 0...1e7, using: &random) * 100).rounded() / 100 }
        return numbers
    }()

    @Test("PostgreSQL formats a number as Swift does")
    func numbers() async throws {
        try await PostgresCase.run { run in
            let wrong = try await run.database.read { db in
                var wrong: [String] = []
                for number in Self.numbers {
                    try db.query("SELECT lfs_real(?1)", arguments: [.real(number)]) { row in
                        var expected: [UInt8] = []
                        SyncValue.real(number).write(to: &expected)
                        let (text, wanted) = (try row.text(0) ?? "NULL", String(decoding: expected, as: UTF8.self))
                        if text != wanted { wrong.append("\(text) for \(wanted)") }
                        return true
                    }
                }
                return wrong
            }
            #expect(wrong.isEmpty, "\(wrong.count) of \(Self.numbers.count): \(wrong.prefix(20))")
        }
    }

    private static let texts = [
        "", "a", "Æ 💐 e\u{301}", "\"q\" \\ /", "\u{2028}\u{7F}", String(decoding: 1...31, as: UTF8.self),
    ]

    /// Returns the lines that a device receives for rows with all kinds of values, without their positions and the
    /// identity of the database. SQLite stores no sign of a zero.
    private func lines(_ server: TestServer) async throws -> [String] {
        let device = try await server.device()
        for (number, text) in Self.texts.enumerated() {
            try await device.put(
                "RecipeV2", key: "r\(number)",
                values: [
                    "title": .text(text), "servings": .integer([.min, .max, 0, -1, 7, 10][number]),
                    "rating": .real(Self.numbers[number + 2]), "image": .blob(Array(text.utf8)), "note": .text(text),
                ])
        }
        try await device.put("RecipeV2", key: "empty", values: ["title": .text("")])
        try await device.put("StepV1", key: "s1", values: ["recipeID": .text("empty")])
        try await device.push(.delete, type: "StepV1", key: "s1")
        return try await device.lines().map { line in
            line.replacing(/"ack":"[^"]*"/, with: "").replacing(/account\/[^|"]*/, with: "")
                .replacing(/"history":"[^"]*"/, with: "")
        }
    }

    @Test("SQLite and PostgreSQL produce identical lines for rows and deletions")
    func lines() async throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "lfs-\(UUID().uuidString).sqlite").path
        defer { for end in ["", "-wal", "-shm"] { try? FileManager.default.removeItem(atPath: path + end) } }
        let database = try SQLiteDatabase(path: path)
        let service = try await SyncService(database, schema: TestServer.schema)
        let expected = try await lines(TestServer(database: database, service: service))
        await database.close()
        #expect(expected.filter { $0.contains("Recipe") }.count == Self.texts.count + 1)
        try await PostgresCase.run { run in
            let found = try await lines(run.server)
            for (found, expected) in zip(found, expected) { #expect(found == expected) }
            #expect(found.count == expected.count)
        }
    }
}
