import Foundation
import Testing

@Suite("Local files without an upload", .timeLimit(.minutes(10)))
struct UnqueuedTests {
    @Test("The status says what local files without an upload wait for")
    func waiting() throws {
        try withFolder(files: 1) { folder in
            let database = folder.appendingPathComponent("a.sqlite")
            let push = try UploaderProcess.run(
                "push", "--database", "a.sqlite", "--to", "dir:remote", "files", in: folder)
            try #require(push.status == 0)
            let usual = try UploaderProcess.run("status", "--database", "a.sqlite", in: folder)
            #expect(!usual.output.contains("of other devices") && !usual.output.contains("without an upload"))
            try insert(
                "01900000-0000-7000-8000-000000000001", namespace: String(repeating: "0", count: 32), in: database)
            try insert(
                "01900000-0000-7000-8000-000000000002", namespace: TestDatabase.namespace(of: database), in: database)

            let status = try UploaderProcess.run("status", "--database", "a.sqlite", in: folder)
            #expect(status.status == 0)
            #expect(status.output.contains("1 file of other devices: each waits until"), "\(status)")
            #expect(status.output.contains("1 file of this device without an upload: 'verify --repair'"), "\(status)")
            let json = try UploaderProcess.run("status", "--database", "a.sqlite", "--json", in: folder)
            #expect(json.events.first?["ofOthers"] as? Int == 1 && json.events.first?["withoutUpload"] as? Int == 1)
            let list = try UploaderProcess.run(
                "list", "--database", "a.sqlite", "--status", "local", "--json", in: folder)
            #expect(list.output.contains("01900000-0000-7000-8000-000000000001"), "\(list)")
        }
    }

    /// Inserts the row of a file as sync does, which queues no upload.
    private func insert(_ id: String, namespace: String, in database: URL) throws {
        try TestDatabase.execute(
            """
            UPDATE lfs_state SET isApplying = 1;
            INSERT INTO lfs_file (id, status, name, byteCount, sha256, key, createdAt)
            VALUES ('\(id)', 'local', 'photo', 1, '\(String(repeating: "a", count: 64))', '\(namespace)/\(id)',
                '2026-01-01 00:00:00.000');
            UPDATE lfs_state SET isApplying = 0
            """, in: database)
    }
}
