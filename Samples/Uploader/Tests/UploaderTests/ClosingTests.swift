import Foundation
import GRDB
import Testing

@testable import UploaderKit

@Suite("Closing a database")
struct ClosingTests {
    @Test("A closed database is a single file, also right after reads")
    func singleFile() async throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("closing-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
        for round in 0..<50 {
            let name = "\(round).sqlite"
            let pool = try DatabasePool(path: folder.appendingPathComponent(name).path)
            try await pool.write { db in
                try db.execute(sql: "CREATE TABLE a (b); INSERT INTO a VALUES (randomblob(9000))")
            }
            try await withThrowingTaskGroup(of: Void.self) { reads in
                for _ in 0..<4 {
                    reads.addTask {
                        _ = try await pool.read { db in try Int.fetchOne(db, sql: "SELECT count(*) FROM a") }
                    }
                }
                try await reads.waitForAll()
            }
            try DocumentDatabase.close(pool)
            let left = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasPrefix(name) }
            try #require(left == [name], "round \(round)")
            try FileManager.default.removeItem(at: folder.appendingPathComponent(name))
        }
    }
}
