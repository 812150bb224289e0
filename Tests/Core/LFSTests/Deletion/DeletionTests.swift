import Foundation
import GRDB
import LFS
import LFSStorage
import LFSSystem
import TestSupport
import Testing

@Suite("Deleting files", .timeLimit(.minutes(10)))
struct DeletionTests {
    private func uploaded(_ host: TestHost, lfs: LFSManager) async throws -> FileData {
        let file = try await lfs.makeFile(from: .bytes(someBytes()))
        try await host.database.write { try file.insert($0) }
        try await lfs.waitForUploads()
        return try #require(try host.file(file.id))
    }

    @Test("Deleting a row deletes the local copy and the object", arguments: ["record", "sql", "all"])
    func delete(way: String) async throws {
        let storage = InMemoryStorage()
        try await withLFS(storage: storage) { host, lfs in
            let file = try await uploaded(host, lfs: lfs)
            try await host.database.write { db in
                switch way {
                case "record": try file.delete(db)
                case "sql": try db.execute(sql: "DELETE FROM lfs_file WHERE id = ?", arguments: [file.id])
                default: try db.execute(sql: "DELETE FROM lfs_file")
                }
            }
            #expect(try await lfs.waitForDeletions() == 0)
            #expect(storage.keys.isEmpty)
            #expect(try host.filesInStore().isEmpty)
        }
    }

    @Test("A file that is deleted during its upload leaves no object")
    func deleteDuringUpload() async throws {
        let gate = Gate()
        let storage = ScriptedStorage(beforeUpload: { _, _ in try await gate.pass() })
        try await withLFS(storage: storage) { host, lfs in
            let file = try await lfs.makeFile(from: .bytes(someBytes()))
            try await host.database.write { try file.insert($0) }
            await gate.reached.wait()
            try await host.database.write { _ = try file.delete($0) }
            gate.opened.open()
            try await lfs.waitForUploads()
            #expect(try await lfs.waitForDeletions() == 0)
            #expect(storage.memory.keys.isEmpty)
            #expect(try host.filesInStore().isEmpty)
        }
    }

    @Test("A deletion abandons an upload that saves its first checkpoint after the deletion")
    func lateCheckpoint() async throws {
        let gate = Gate()
        let storage = AbandonedUploads { session in
            try await gate.pass()
            try await session.save(UploadCheckpoint(rawValue: Data([1, 2])))
            throw StorageError(.serverError, message: "Not now.")
        }
        try await withLFS(storage: storage) { host, lfs in
            let file = try await lfs.makeFile(from: .bytes(someBytes()))
            try await host.database.write { try file.insert($0) }
            await gate.reached.wait()
            try await host.database.write { _ = try file.delete($0) }
            gate.opened.open()
            try await lfs.waitForUploads()
            #expect(try await lfs.waitForDeletions() == 0)
            #expect(storage.abandoned == [file.key: Data([1, 2])])
        }
    }

    @Test("A file that is deleted before its upload is not uploaded")
    func deleteBeforeUpload() async throws {
        let storage = ScriptedStorage()
        try await withLFS(storage: storage) { host, lfs in
            lfs.pause()
            let file = try await lfs.makeFile(from: .bytes(someBytes()))
            try await host.database.write { try file.insert($0) }
            try await host.database.write { _ = try file.delete($0) }
            try await lfs.waitForDeletions()
            lfs.resume()
            try await lfs.waitForUploads()
            #expect(storage.uploads == 0)
            #expect(try host.filesInStore().isEmpty)
        }
    }

    @Test("A failed remote delete is retried until it succeeds")
    func retried() async throws {
        let storage = ScriptedStorage(beforeDelete: { _, call in
            if call <= 3 { throw StorageError(.serverError, message: "Not now.") }
        })
        try await withLFS(storage: storage) { host, lfs in
            let file = try await uploaded(host, lfs: lfs)
            try await host.database.write { _ = try file.delete($0) }
            try await yield(while: host.count("lfs_tombstone") > 0)
            #expect(storage.memory.keys.isEmpty)
        }
    }

    @Test("A refused deletion is retried at once on request")
    func retriedWhenAsked() async throws {
        let storage = ScriptedStorage(beforeDelete: { _, call in
            if call == 1 { throw StorageError(.forbidden, message: "Not you.") }
        })
        try await withLFS(storage: storage) { host, lfs in
            let file = try await uploaded(host, lfs: lfs)
            try await host.database.write { _ = try file.delete($0) }
            try await #expect(lfs.waitForDeletions() == 1)
            try await #expect(lfs.retryDeletions() == 1)
            try await #expect(lfs.waitForDeletions() == 0)
            #expect(storage.memory.keys.isEmpty)
            try await #expect(lfs.retryDeletions() == 0)
        }
    }

    @Test("Inserting a file again cancels its deletion before bytes are deleted")
    func insertAgain() async throws {
        let storage = InMemoryStorage()
        try await withHost(storage: storage) { host in
            let lfs = try await LFSManager.open(host.database, options: host.options)
            let file = try await lfs.makeFile(from: .bytes(someBytes()))
            try await host.database.write { try file.insert($0) }
            try await host.database.write { _ = try file.delete($0) }
            #expect(try host.count("lfs_tombstone") == 1)
            try await host.database.write { try file.insert($0) }
            #expect(try host.count("lfs_tombstone") == 0)
            #expect(try host.count("lfs_job") == 1)
            try lfs.start()
            try await lfs.waitForUploads()
            #expect(storage.keys.count == 1)
            try await lfs.stop()
        }
    }

    @Test("An id whose bytes are being deleted cannot be inserted again")
    func cannotComeBack() async throws {
        let gate = Gate()
        let storage = ScriptedStorage(beforeDelete: { _, _ in try await gate.pass() })
        try await withLFS(storage: storage) { host, lfs in
            let file = try await uploaded(host, lfs: lfs)
            try await host.database.write { _ = try file.delete($0) }
            await gate.reached.wait()
            #expect(await errorCode { try await host.database.write { try file.insert($0) } } == .deleted)
            gate.opened.open()
        }
    }

    @Test("INSERT OR REPLACE of the same file keeps its bytes", arguments: [false, true])
    func replace(recursiveTriggers: Bool) async throws {
        let storage = InMemoryStorage()
        try await withLFS(storage: storage) { host, lfs in
            let file = try await uploaded(host, lfs: lfs)
            try await host.database.writeWithoutTransaction { db in
                try db.execute(sql: "PRAGMA recursive_triggers = \(recursiveTriggers ? 1 : 0)")
                try file.insert(db, onConflict: .replace)
            }
            try await lfs.waitForDeletions()
            #expect(storage.keys.count == 1)
            #expect(try host.filesInStore() == [file.id])
            #expect(try host.file(file.id)?.status == .remote)
        }
    }

    @Test(
        "Inserting a record from before the upload again does not undo the upload", arguments: [false, true],
        [Database.ConflictResolution.replace, .ignore])
    func replaceByStale(recursiveTriggers: Bool, resolution: Database.ConflictResolution) async throws {
        let storage = ScriptedStorage()
        try await withLFS(storage: storage) { host, lfs in
            let stale = try await lfs.makeFile(from: .bytes(someBytes()), name: "a")
            try await host.database.write { try stale.insert($0) }
            try await lfs.waitForUploads()
            try await lfs.evict(stale.id)
            var renamed = stale
            renamed.name = "b"
            try await host.database.writeWithoutTransaction { [renamed] db in
                try db.execute(sql: "PRAGMA recursive_triggers = \(recursiveTriggers ? 1 : 0)")
                try renamed.insert(db, onConflict: resolution)
            }
            try await lfs.waitForUploads()
            try await lfs.waitForDeletions()
            let file = try #require(try host.file(stale.id))
            #expect(file.status == .remote && file.url != nil)
            #expect(file.name == (resolution == .replace ? "b" : "a"))
            #expect(storage.uploads == 1)
            #expect(try await read(file, lfs: lfs)?.count == 1_000)
        }
    }

    @Test("An ignored insert does not affect a later file with the same id")
    func ignoredInsert() async throws {
        try await withHost { host in
            try await host.database.write { db in
                let prefix = try String.fetchOne(db, sql: "SELECT namespace FROM lfs_state") ?? ""
                let id = FileID.make().text
                func insert(_ status: String) throws {
                    try db.execute(
                        sql: """
                            INSERT OR IGNORE INTO lfs_file (id, status, url, byteCount, sha256, key, createdAt)
                            VALUES (?1, ?2, 'https://a/b', 1, ?3, ?4, '2026-01-01 00:00:00.000')
                            """, arguments: [id, status, String(repeating: "0", count: 64), "\(prefix)/\(id)"])
                }
                try insert("remote")
                try insert("remote")
                try db.execute(sql: "DELETE FROM lfs_file")
                try db.execute(sql: "DELETE FROM lfs_tombstone")
                try insert("local")
                #expect(try String.fetchOne(db, sql: "SELECT status FROM lfs_file") == "local")
                #expect(try String.fetchOne(db, sql: "SELECT state FROM lfs_job") == "queued")
            }
        }
    }

    @Test("INSERT OR REPLACE cannot change the content of a file")
    func replaceByOther() async throws {
        try await withLFS { host, lfs in
            let file = try await uploaded(host, lfs: lfs)
            await #expect(throws: DatabaseError.self) {
                try await host.database.write { db in
                    try db.execute(
                        sql: """
                            REPLACE INTO lfs_file (id, status, url, byteCount, sha256, key, createdAt)
                            SELECT id, status, url, byteCount + 1, sha256, key, createdAt FROM lfs_file
                            """)
                }
            }
            #expect(try host.file(file.id) == file)
        }
    }

    @Test("The next manager carries out deletions that a stop interrupted")
    func interrupted() async throws {
        let storage = InMemoryStorage()
        try await withHost(storage: storage) { host in
            try await withManager(host) { lfs in _ = try await uploaded(host, lfs: lfs) }
            try await host.database.write { _ = try FileData.deleteAll($0) }
            #expect(storage.keys.count == 1)
            try await withManager(host) { lfs in try await #expect(lfs.waitForDeletions() == 0) }
            #expect(storage.keys.isEmpty)
            #expect(try host.filesInStore().isEmpty)
        }
    }
}
