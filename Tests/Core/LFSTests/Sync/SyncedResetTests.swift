import Foundation
import GRDB
import LFS
import LFSDatabase
import LFSStorage
import LFSSystem
import LFSTesting
import TestSupport
import Testing

@Suite("Resetting a synced device", .timeLimit(.minutes(10)))
struct SyncedResetTests {
    @Test("A reset of a synced device deletes nothing on the server or the storage")
    func nothingElsewhere() async throws {
        let storage = InMemoryStorage()
        try await withHost(storage: storage) { host in
            try await host.database.write { db in
                // These triggers work like those of an outbox.
                try db.execute(
                    sql: """
                        CREATE TABLE outbox (fileID TEXT);
                        CREATE TRIGGER capture_file AFTER DELETE ON lfs_file
                        WHEN (SELECT isApplying FROM lfs_state) = 0
                        BEGIN INSERT INTO outbox VALUES (OLD.id); END;
                        CREATE TRIGGER capture_recipe AFTER DELETE ON recipe
                        WHEN (SELECT isApplying FROM lfs_state) = 0
                        BEGIN INSERT INTO outbox VALUES (OLD.photoId); END;
                        """)
            }
            try await host.holdDeletions()
            let lfs = try await LFSManager.open(host.database, options: host.options)
            try lfs.start()
            let files = try await keptFiles(3, host: host, lfs: lfs)
            let foreign = try await host.receiveUploaded(someBytes())
            _ = try await read(foreign, lfs: lfs)
            try await host.database.write { try Recipe(title: "a", photoId: files[0].id).insert($0) }
            try await host.delete(files[1].id)
            try await host.delete(files[2].id)
            try #expect(host.count("outbox") == 2)
            try await lfs.reset(.everythingIsUploaded) { try Recipe.deleteAll($0) }
            try #expect(host.count("outbox") == 2)
            for table in ["lfs_file", "lfs_job", "lfs_copy", "lfs_tombstone", "lfs_disowned", "recipe"] {
                try #expect(host.count(table) == 0, "\(table)")
            }
            try #expect(host.filesInStore().isEmpty)
            try #expect(host.count("lfs_state WHERE isApplying = 0 AND isResetting = 0") == 1)
            try await withManager(host) { next in
                try await #expect(next.waitForDeletions() == 0)
                // The server sends all rows again, and their bytes come from the storage.
                for file in files + [foreign] { try await host.receive(ReceivedFile(file, status: "remote")) }
                for file in files + [foreign] { try await #expect(read(file, lfs: next)?.count == 1_000) }
                try #expect(host.count("lfs_job") == 0)
            }
            #expect(storage.keys.count == 4)
        }
    }

    @Test("A reset abandons the unfinished uploads of its own files")
    func unfinishedUploads() async throws {
        let storage = AbandonedUploads()
        try await withHost(storage: storage) { host in
            try await host.holdDeletions()
            let lfs = try await LFSManager.open(host.database, options: host.options)
            let (kept, deleted) = (
                try await lfs.makeFile(from: .bytes(someBytes())), try await lfs.makeFile(from: .bytes(someBytes()))
            )
            try await host.database.write { db in
                try kept.insert(db)
                try deleted.insert(db)
                try db.execute(sql: "UPDATE lfs_job SET checkpoint = x'0102'")
            }
            try await host.delete(deleted.id)
            try await lfs.reset(.loseFilesThatAreNotUploaded(1))
            try #expect(host.count("lfs_tombstone WHERE isHeld = 0") == 2)
            // The bytes are deleted, so no row cancels these deletions.
            let error = await #expect(throws: DatabaseError.self) { try await host.receive(ReceivedFile(kept)) }
            #expect(error?.message == InsertRefusal.removed.message)
            try await withManager(host) { next in
                try await #expect(next.waitForDeletions() == 0)
                #expect(storage.abandoned == [kept.key: Data([1, 2]), deleted.key: Data([1, 2])])
                try await host.receive(ReceivedFile(kept))
                try #expect(host.count("lfs_job") == 0)
                try #expect(host.file(kept.id)?.status == .local)
            }
        }
    }
}
