import Foundation
import GRDB
import LFSStorage
import LFSTesting
import TestSupport
import Testing

@testable import LFS

@Suite("Invalid rows", .timeLimit(.minutes(10)))
struct OddRowTests {
    /// Values that the schema refuses. The tests write each of them into one of two rows.
    static let refused: [(column: String, value: DatabaseValue)] = [
        ("url", "".databaseValue), ("createdAt", "soon".databaseValue), ("createdAt", Double.infinity.databaseValue),
        ("createdAt", Data([0xFF]).databaseValue), ("byteCount", Int64.max.databaseValue),
        ("byteCount", "many".databaseValue), ("byteCount", (-1).databaseValue), ("name", Data([0xFF]).databaseValue),
        ("key", Data([0xFF]).databaseValue), ("sha256", Data([0xFF]).databaseValue), ("status", "lost".databaseValue),
        ("updateID", Data([0xFF]).databaseValue),
    ]

    @Test("The schema refuses invalid values", arguments: refused)
    func checks(_ column: String, value: DatabaseValue) async throws {
        try await withHost { host in
            try await withManager(host) { lfs in
                let file = try await keptFiles(1, host: host, lfs: lfs)[0]
                await #expect(throws: DatabaseError.self) {
                    try await write(
                        column, value: value, id: file.id.uuidString, database: host.database, checked: true)
                }
            }
        }
    }

    @Test("An unreadable row is reported, and other files still work", arguments: refused)
    func unreadable(_ column: String, value: DatabaseValue) async throws {
        try await withCheckedHost { checked in
            let files = try await checked.uploaded(2)
            try await write(
                column, value: value, id: files[0].id.uuidString, database: checked.host.database, checked: false)
            let error = await #expect(throws: LFSError.self) {
                _ = try await checked.host.database.read { try FileData.fetchOne($0, key: files[0].id) }
            }
            #expect(error?.code == .invalidRow && error?.fileID == files[0].id)
            #expect(error?.message.contains(column) == true)
            try await withManager(checked.host, options: checked.options) { lfs in
                let (report, findings) = try await checked.verify(lfs, repairs: true)
                #expect(findings.map(\.kind) == [.unreadableRow])
                #expect(findings.map(\.fileID) == [files[0].id] && report.left == 1)
                try await #expect(read(files[1], lfs: lfs) != nil)
                try await lfs.evict(files[1].id)
                let summary = try await lfs.prefetch(FileData.all())
                #expect(summary.fetched == 1)
                _ = try await lfs.status()
            }
            #expect(FileManager.default.fileExists(atPath: checked.object(files[0]).path))
            try #expect(checked.host.filesInStore() == Set(files.map(\.id)))
        }
    }

    @Test("Jobs, tombstones and notes with invalid values do not block others")
    func jobs() async throws {
        let storage = InMemoryStorage()
        try await withHost(storage: storage) { host in
            try await withManager(host, starts: false) { lfs in
                var files: [FileData] = []
                for _ in 0..<4 { files.append(try await lfs.makeFile(from: .bytes(someBytes()))) }
                let made = files
                try await host.database.write { db in
                    for file in made { try file.insert(db) }
                    try db.execute(
                        sql: """
                            PRAGMA ignore_check_constraints = ON;
                            UPDATE lfs_job SET attempts = 'often' WHERE fileID = '\(made[0].id)';
                            UPDATE lfs_job SET attempts = 9223372036854775807 WHERE fileID = '\(made[1].id)';
                            INSERT INTO lfs_tombstone (fileID, key, attempts) VALUES ('a', x'FF', 0);
                            INSERT INTO lfs_tombstone (fileID, key, attempts) VALUES ('b', 'b', 9223372036854775807);
                            INSERT INTO lfs_disowned (fileID) VALUES (x'FF');
                            INSERT INTO lfs_disowned (fileID) VALUES ('\(made[3].id)' || char(0));
                            INSERT INTO lfs_tombstone (fileID, key) VALUES ('\(made[3].id)' || char(0), 'c');
                            PRAGMA ignore_check_constraints = OFF;
                            DELETE FROM lfs_file WHERE id = '\(made[2].id)';
                            """)
                }
                try lfs.start()
                let summary = try await lfs.waitForUploads()
                #expect(Set(summary.failures.map(\.fileID)) == Set(made.prefix(2).map(\.id)))
                #expect(summary.failures.allSatisfy { $0.code == .invalidRequest && $0.reason.contains("attempts") })
                #expect(storage.keys.map(\.rawValue) == [made[3].key])
                try await yield(while: host.count("lfs_tombstone WHERE key = 'b'") > 0)
                #expect(try await lfs.waitForDeletions() == 2)
                try #expect(host.count("lfs_disowned") == 0)
            }
        }
    }

    @Test("A wait ignores a job without a file, and the next opening removes the job", arguments: ["queued", "failed"])
    func jobWithoutFile(state: String) async throws {
        try await withHost { host in
            try await withManager(host) { lfs in
                let file = try await lfs.makeFile(from: .bytes(someBytes()))
                try await host.database.write { db in
                    try file.insert(db)
                    let job = """
                        INSERT INTO lfs_job (fileID, state, lane, byteCount, notBefore) VALUES ('..', ?, 0, 1, 0)
                        """
                    try db.execute(sql: job, arguments: [state])
                }
                let summary = try await lfs.waitForUploads()
                #expect(summary.failures.isEmpty && summary.pending == 0)
                try #expect(host.file(file.id)?.status == .remote)
            }
            try #expect(host.count("lfs_job") == 1)
            try await withManager(host) { _ in try #expect(host.count("lfs_job") == 0) }
        }
    }

    private func write(
        _ column: String, value: DatabaseValue, id: String, database: any DatabaseWriter, checked: Bool
    ) async throws {
        try await database.write { db in
            // The trigger that protects the content of a file would also refuse the change.
            try db.execute(sql: "DROP TRIGGER lfs_file_keep_content")
            if !checked { try db.execute(sql: "PRAGMA ignore_check_constraints = ON") }
            try db.execute(sql: "UPDATE lfs_file SET \(column) = ? WHERE id = ?", arguments: [value, id])
            try db.execute(sql: "PRAGMA ignore_check_constraints = OFF")
        }
    }

    @Test("An id with a NUL is refused, and an existing one blocks no upload")
    func idsWithNUL() async throws {
        try await withHost { host in
            let insert = """
                INSERT INTO lfs_file (id, status, byteCount, sha256, key, createdAt)
                SELECT 'ffffffff-0000-7000-8000-000000000001' || char(0) || 'x', 'local', 1, ?,
                    (SELECT namespace FROM lfs_state) || '/ffffffff-0000-7000-8000-000000000001', 0
                """
            let sha256 = String(repeating: "0", count: 64)
            await #expect(throws: DatabaseError.self) {
                try await host.database.write { db in try db.execute(sql: insert, arguments: [sha256]) }
            }
            try await host.database.write { db in
                try db.execute(sql: "PRAGMA ignore_check_constraints = 1")
                try db.execute(sql: insert, arguments: [sha256])
                try db.execute(sql: "PRAGMA ignore_check_constraints = 0")
            }
            try await withManager(host) { lfs in
                let file = try await lfs.makeFile(from: .bytes(someBytes()))
                try await host.database.write { try file.insert($0) }
                _ = try await lfs.waitForUploads()
                try #expect(host.file(file.id)?.status == .remote)
                #expect(await errorCode { _ = try await lfs.verify() } == .invalidRow)
            }
        }
    }
}
