import Foundation
import GRDB
import LFS
import LFSStorage
import Testing

@Suite("A row with a key that no storage takes", .timeLimit(.minutes(10)))
struct OddKeyTests {
    /// Only another program writes such a row; it has the content of another file.
    private func insert(_ id: FileID, _ key: String, _ status: String, _ host: TestHost) async throws {
        try await host.database.write { db in
            try db.execute(
                sql: """
                    INSERT INTO lfs_file (id, status, url, byteCount, sha256, key, createdAt)
                    SELECT ?, ?, 'u', byteCount, sha256, ?, createdAt FROM lfs_file LIMIT 1
                    """, arguments: [id, status, key])
        }
    }

    @Test("is a finding that cannot be repaired, and the others are looked at", arguments: ["Photos/X.jpg", "..", ""])
    func verification(key: String) async throws {
        try await withCheckedHost { checked in
            let files = try await checked.uploaded(2)
            try checked.plant(nil, at: checked.object(files[1]))
            let id = try #require(FileID("0198c1f2-0000-7000-8000-000000000001"))
            try await insert(id, key, "remote", checked.host)
            try await withManager(checked.host, checked.options, starts: false) { lfs in
                let (report, findings) = try await checked.verify(lfs, repairs: true)
                let told = Set(findings.map(Told.init))
                #expect(
                    told == [
                        Told(.unusableKey, id, nil), Told(.missingRemotely, files[1].id, .upload),
                    ])
                #expect(report.left == 1 && report.lostBytes == 0)
            }
            // Its deletion asks no storage for what none can have.
            try await withManager(checked.host, checked.options) { lfs in
                try await checked.host.database.write { db in _ = try FileData.deleteOne(db, key: id) }
                try await #expect(lfs.waitForDeletions() == 0)
                try #expect(checked.host.count("lfs_tombstone") == 0)
            }
        }
    }

    @Test("fails alone, with its reason, and does not stop the uploads of others")
    func upload() async throws {
        try await withHost { host in
            try await withManager(host) { lfs in
                let file = try await lfs.makeFile(from: .bytes(someBytes()))
                try await host.database.write { try file.insert($0) }
                try await lfs.waitForUploads()
            }
            let namespace = try await host.database.read { db in
                try String.fetchOne(db, sql: "SELECT namespace FROM lfs_state") ?? ""
            }
            // Before the manager opens, which would refuse a row without bytes.
            let id = try #require(FileID("0198c1f2-0000-7000-8000-000000000001"))
            try await insert(id, "\(namespace)/Photo 1.jpg", "local", host)
            try await withManager(host) { lfs in
                let file = try await lfs.makeFile(from: .bytes(someBytes()))
                try await host.database.write { try file.insert($0) }
                let summary = try await lfs.waitForUploads()
                #expect(try host.file(file.id)?.status == .remote)
                #expect(summary.pending == 0)
                #expect(summary.failures.map(\.fileID) == [id])
                #expect(summary.failures.first?.code == .invalidKey)
                #expect(summary.failures.first?.reason.contains("Photo 1.jpg") == true)
                var verifying = VerifyOptions()
                verifying.repairs = true
                let report = try await lfs.verify(verifying)
                #expect(report.left == 1 && report.repaired == 0)
            }
        }
    }
}
