import Foundation
import GRDB
import LFS
import LFSDatabase
import LFSStorage
import LFSSystem
import LFSTesting
import TestSupport
import Testing

@Suite("Removing everything from a device that is synced", .timeLimit(.minutes(10)))
struct SyncedResetTests {
    @Test("deletes nothing anywhere else: not what it empties, and not what no server has accepted")
    func nothingElsewhere() async throws {
        let storage = InMemoryStorage()
        try await withHost(storage: storage) { host in
            try await host.database.write { db in
                // As an outbox does it.
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
            let files = try await keptFiles(3, host, lfs)
            let foreign = try await host.receiveUploaded(someBytes())
            _ = try await read(foreign, lfs)
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
                // The server gives all of them back, and their bytes come from the storage.
                for file in files + [foreign] { try await host.receive(ReceivedFile(file, status: "remote")) }
                for file in files + [foreign] { try await #expect(read(file, next)?.count == 1_000) }
                try #expect(host.count("lfs_job") == 0)
            }
            #expect(storage.keys.count == 4)
        }
    }

    @Test("gives up the unfinished uploads of its own files, also of those whose deletion was held")
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
            // Their bytes are gone, so no row takes these deletions back.
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
