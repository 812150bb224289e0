import Foundation
import GRDB
import LFS
import LFSDatabase
import LFSStorage
import LFSSystem
import LFSTesting
import TestSupport
import Testing

/// Tests of deletions from a server. Another device has deleted the file, or this device may no longer see it.
@Suite("Received deletions", .timeLimit(.minutes(10)))
struct ReceivedDeletionTests {
    @Test("A received deletion removes the local copy and keeps the object", arguments: [true, false])
    func leavesObject(isOwn: Bool) async throws {
        let storage = ScriptedStorage(beforeDelete: { key, _ in Issue.record("asked to delete \(key)") })
        try await withLFS(storage: storage) { host, lfs in
            let file = try await isOwn ? keptFiles(1, host: host, lfs: lfs)[0] : host.receiveUploaded(someBytes())
            try await #expect(read(file, lfs: lfs) != nil)
            try #expect(host.filesInStore() == [file.id])
            try await host.receiveDeletion(of: file.id)
            try await #expect(lfs.waitForDeletions() == 0)
            try #expect(host.filesInStore().isEmpty)
            try #expect(storage.memory.has(file))
        }
    }

    @Test("A received deletion needs no storage")
    func offline() async throws {
        let memory = InMemoryStorage()
        let storage = UnreachableStorage(memory, on: [.delete, .upload], isReachable: true)
        try await withLFS(storage: storage) { host, lfs in
            let file = try await keptFiles(1, host: host, lfs: lfs)[0]
            storage.setReachable(false)
            // The manager notices that the storage is unreachable.
            let pending = try await lfs.makeFile(from: .bytes(someBytes()))
            try await host.database.write { try pending.insert($0) }
            try await yield(while: host.count("lfs_state WHERE outageCode IS NOT NULL") == 0)
            try await host.receiveDeletion(of: file.id)
            try await yield(while: host.count("lfs_tombstone") > 0)
            try #expect(!host.filesInStore().contains(file.id))
            try #expect(memory.has(file))
            storage.setReachable(true)
            lfs.resume()
        }
    }

    @Test("A received deletion during an upload leaves nothing on the storage")
    func duringUpload() async throws {
        let gate = Gate()
        let storage = ScriptedStorage(beforeUpload: { _, _ in try await gate.pass() })
        try await withLFS(storage: storage) { host, lfs in
            let file = try await lfs.makeFile(from: .bytes(someBytes()))
            try await host.database.write { try file.insert($0) }
            await gate.reached.wait()
            try await host.receiveDeletion(of: file.id)
            gate.opened.open()
            try await lfs.waitForUploads()
            try await #expect(lfs.waitForDeletions() == 0)
            #expect(storage.memory.keys.isEmpty)
            try #expect(host.filesInStore().isEmpty)
        }
    }

    @Test("A received deletion abandons an unfinished upload, except in an older copy")
    func unfinishedUpload() async throws {
        for isOlderCopy in [false, true] {
            let storage = AbandonedUploads()
            try await withLFS(storage: storage) { host, lfs in
                lfs.pause()
                let file = try await lfs.makeFile(from: .bytes(someBytes()))
                try await host.database.write { db in
                    try file.insert(db)
                    try db.execute(sql: "UPDATE lfs_job SET checkpoint = x'0102'")
                    if isOlderCopy { try StateTable.doubtAll(until: .max >> 16, db) }
                }
                try await host.receiveDeletion(of: file.id)
                try await #expect(lfs.waitForDeletions() == 0)
                #expect(storage.abandoned == (isOlderCopy ? [:] : [file.key: Data([1, 2])]))
                try #expect(host.filesInStore().isEmpty)
            }
        }
    }

    @Test("A received deletion also removes the pin")
    func pinned() async throws {
        let storage = InMemoryStorage()
        try await withLFS(storage: storage) { host, lfs in
            let file = try await host.receiveUploaded(someBytes())
            try await lfs.pin([file.id])
            try await #expect(read(file, lfs: lfs) != nil)
            try await host.receiveDeletion(of: file.id)
            try await #expect(lfs.waitForDeletions() == 0)
            try #expect(host.filesInStore().isEmpty)
            try #expect(host.count("lfs_copy") == 0)
            try #expect(storage.has(file))
        }
    }

    @Test("A received row cancels a received deletion before bytes are deleted")
    func regained() async throws {
        try await withHost { host in
            let bytes = someBytes()
            var file: FileData?
            try await withManager(host) { lfs in
                let received = try await host.receiveUploaded(bytes)
                try await lfs.pin([received.id])
                _ = try await read(received, lfs: lfs)
                file = received
            }
            let known = try #require(file)
            try await withManager(host, starts: false) { lfs in
                try await host.receiveDeletion(of: known.id)
                try await host.receive(ReceivedFile(known, status: "remote"))
                try #expect(host.count("lfs_tombstone") == 0)
                try await #expect(lfs.isPinned(known.id))
            }
            try await withManager(host) { lfs in
                try await lfs.waitForDeletions()
                try #expect(host.filesInStore() == [known.id])
            }
        }
    }

    @Test("A received row is refused while its bytes are being deleted, and not afterwards")
    func regainedLate() async throws {
        let storage = InMemoryStorage()
        try await withHost(storage: storage) { host in
            let bytes = someBytes()
            var file: FileData?
            try await withManager(host) { lfs in
                file = try await host.receiveUploaded(bytes)
                _ = try await read(try #require(file), lfs: lfs)
            }
            let known = try #require(file)
            try await host.receiveDeletion(of: known.id)
            let begun = try await host.database.write { db in
                try TombstoneTable.beginRemoval(of: [known.id.uuidString], db)
            }
            #expect(begun.map(\.removesObject) == [false])
            let error = await #expect(throws: DatabaseError.self) {
                try await host.receive(ReceivedFile(known, status: "remote"))
            }
            #expect(error?.message == InsertRefusal.removed.message)
            try #expect(host.count("lfs_state WHERE isApplying = 0") == 1)
            try await withManager(host) { lfs in
                try await #expect(lfs.waitForDeletions() == 0)
                try #expect(host.filesInStore().isEmpty)
                try await host.receive(ReceivedFile(known, status: "remote"))
                try await #expect(read(known, lfs: lfs) == bytes)
            }
            try #expect(storage.has(known))
        }
    }

    @Test(
        "A received change or deletion of an owner releases no file",
        arguments: [
            "DELETE FROM recipe", "UPDATE recipe SET photoId = NULL",
            "REPLACE INTO recipe (id, title) VALUES (1, 'other')", "UPDATE OR REPLACE recipe SET id = 1 WHERE id = 2",
        ])
    func owners(sql: String) async throws {
        let storage = InMemoryStorage()
        try await withLFS(storage: storage) { host, lfs in
            try await host.database.write { try FileData.deletedWithOwner("recipe", column: "photoId", in: $0) }
            let files = try await keptFiles(2, host: host, lfs: lfs)
            try await host.database.write { db in
                try Recipe(title: "a", photoId: files[0].id).insert(db)
                try Recipe(title: "b").insert(db)
            }
            try await host.apply { try $0.execute(sql: sql) }
            try #expect(host.count("lfs_disowned") == 0)
            try await lfs.waitForDeletions()
            try #expect(host.count("lfs_file") == 2)
            // The app's own changes still release files.
            try await host.database.write { db in
                try db.execute(sql: "INSERT INTO recipe (title, photoId) VALUES ('c', ?)", arguments: [files[1].id])
                try db.execute(sql: "DELETE FROM recipe WHERE title = 'c'")
            }
            try await lfs.waitForDeletions()
            try #expect(host.file(files[1].id) == nil)
            try #expect(host.file(files[0].id) != nil)
        }
    }
}
