import Foundation
import GRDB
import LFS
import LFSDatabase
import LFSStorage
import Testing

@Suite("Rows with unusable keys", .timeLimit(.minutes(10)))
struct OddKeyTests {
    /// Inserts a row that only another program would write. It has the content of another file.
    private func insert(_ id: FileID, key: String, status: String, host: TestHost) async throws {
        try await host.database.write { db in
            try db.execute(
                sql: """
                    INSERT INTO lfs_file (id, status, url, byteCount, sha256, key, createdAt)
                    SELECT ?, ?, 'u', byteCount, sha256, ?, createdAt FROM lfs_file LIMIT 1
                    """, arguments: [id, status, key])
        }
    }

    @Test("An unusable key is reported, and other files are verified", arguments: ["Photos/X.jpg", "..", ""])
    func verification(key: String) async throws {
        try await withCheckedHost { checked in
            let files = try await checked.uploaded(2)
            try checked.plant(nil, at: checked.object(files[1]))
            let id = try #require(FileID("0198c1f2-0000-7000-8000-000000000001"))
            try await insert(id, key: key, status: "remote", host: checked.host)
            try await withManager(checked.host, options: checked.options, starts: false) { lfs in
                let (report, findings) = try await checked.verify(lfs, repairs: true)
                let told = Set(findings.map(Told.init))
                #expect(
                    told == [
                        Told(.unusableKey, id: id, repair: nil),
                        Told(.missingRemotely, id: files[1].id, repair: .upload),
                    ])
                #expect(report.left == 1 && report.lostBytes == 0)
            }
            // The deletion does not call the storage, because no storage can have such an object.
            try await withManager(checked.host, options: checked.options) { lfs in
                try await checked.host.database.write { db in _ = try FileData.deleteOne(db, key: id) }
                try await #expect(lfs.waitForDeletions() == 0)
                try #expect(checked.host.count("lfs_tombstone") == 0)
            }
        }
    }

    @Test("Deleting a row with the key of another file keeps the object", arguments: [false, true])
    func deletionWithOtherKey(isHeld: Bool) async throws {
        try await withCheckedHost { checked in
            let files = try await checked.uploaded(2)
            let id = try #require(FileID("0198c1f2-0000-7000-8000-000000000001"))
            try await insert(id, key: files[0].key, status: "remote", host: checked.host)
            if isHeld {
                try await checked.host.holdDeletions()
                try await checked.host.delete(files[0].id)
                try await checked.host.database.write { try StateTable.holdDeletions(false, $0) }
            }
            try await withManager(checked.host, options: checked.options) { lfs in
                try await checked.host.delete(id)
                try await #expect(lfs.waitForDeletions() == 0)
                try #expect(checked.host.count("lfs_tombstone WHERE isHeld = 0") == 0)
                #expect(FileManager.default.fileExists(atPath: checked.object(files[0]).path))
            }
        }
    }

    @Test("An upload with the key of another file fails and changes no object")
    func uploadWithOtherKey() async throws {
        try await withCheckedHost { checked in
            let file = try await checked.uploaded(1)[0]
            let bytes = try [UInt8](Data(contentsOf: checked.object(file)))
            let other = someBytes()
            try checked.plant(other, at: checked.object(file))
            let id = try #require(FileID("0198c1f2-0000-7000-8000-000000000001"))
            try await insert(id, key: file.key, status: "remote", host: checked.host)
            try await withManager(checked.host, options: checked.options) { lfs in
                try await lfs.restore(id, from: .bytes(bytes))
                let summary = try await lfs.waitForUploads()
                #expect(summary.failures.map(\.fileID) == [id])
                #expect(summary.failures.first?.code == .invalidKey)
                #expect(try [UInt8](Data(contentsOf: checked.object(file))) == other)
            }
        }
    }

    @Test("An upload with an unusable key fails alone with its reason")
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
            // The row is inserted before the manager opens, because the manager would refuse a row without bytes.
            let id = try #require(FileID("0198c1f2-0000-7000-8000-000000000001"))
            try await insert(id, key: "\(namespace)/Photo 1.jpg", status: "local", host: host)
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
