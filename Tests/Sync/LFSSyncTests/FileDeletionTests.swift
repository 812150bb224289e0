import Foundation
import GRDB
import LFS
import LFSStorage
import LFSSystem
import LFSTesting
import Synchronization
import TestSupport
import Testing

@testable import LFSDatabase
@testable import LFSSync
@testable import LFSSyncServer

@Suite("Deletion of files with sync", .timeLimit(.minutes(10)))
struct FileDeletionTests {
    @Test("A received deletion removes the local copy and leaves the object to the deleter")
    func received() async throws {
        try await FileSync.run { files in
            try await files.pair { one, two, file in
                try await two.lfs.pin([file.id])
                // The deleting device is stopped and cannot remove the object.
                try await one.lfs.stop()
                try await one.delete(file)
                try await one.sync()
                try await two.sync()
                try await two.settle()
                #expect(try await two.row(file) == nil)
                #expect(try await !two.lfs.hasLocalCopy(of: file.id))
                #expect(try await two.count("lfs_copy") == 0)
                #expect(try files.storage.has(file) && files.storage.removed.isEmpty)
            }
        }
    }

    @Test("Losing a scope removes only the local row and local copy")
    func unshared() async throws {
        try await FileSync.shared { files, ann, bob, file in
            try await files.unshare(ann)
            try await bob.sync()
            try await bob.settle()
            #expect(try await bob.row(file) == nil)
            #expect(try await !bob.lfs.hasLocalCopy(of: file.id))
            #expect(try files.storage.has(file) && files.storage.removed.isEmpty)
            try await ann.lfs.evict(file.id)
            #expect(try await ann.bytes(of: file)?.count == 1_000)
        }
    }

    @Test("The deletion of a file that is no longer shared leaves the owner's object")
    func deletedAfterUnsharing() async throws {
        try await FileSync.shared { files, ann, bob, file in
            try await bob.delete(file)
            try await files.unshare(ann)
            #expect(try await bob.sync().rejected == 0)
            try await bob.settle()
            #expect(try await bob.row(file) == nil)
            #expect(try await !bob.lfs.hasLocalCopy(of: file.id))
            #expect(try files.storage.has(file) && files.storage.removed.isEmpty)
            try await ann.lfs.evict(file.id)
            #expect(try await ann.bytes(of: file)?.count == 1_000)
        }
    }

    @Test("A file's creator removes the object even if another device deleted the row first")
    func deletedTwice() async throws {
        try await FileSync.run { files in
            try await files.pair { one, two, file in
                // The first device to delete the row is stopped and cannot remove the object.
                try await two.lfs.stop()
                for device in [two, one] { try await device.delete(file) }
                for device in [two, one] { try await device.sync() }
                try await one.settle()
                #expect(files.storage.removed == [file.key])
                #expect(try !files.storage.has(file))
            }
        }
    }

    @Test("Only the device that deleted a file's owner deletes the file")
    func owner() async throws {
        let tables: @Sendable (Database) throws -> Void = { db in
            try TestSync.recipes(db)
            try FileData.deletedWithOwner("recipe", column: "photoID", in: db)
        }
        try await FileSync.run { files in
            let one = try await files.device("one", tables: tables)
            let two = try await files.device("two", tables: tables)
            let file = try await one.uploaded()
            try await one.device.execute(
                "INSERT INTO recipe (id, title, photoID) VALUES ('r', 'Soup', '\(file.id.text)')")
            for device in [one, two] { try await device.sync() }
            #expect(try await two.bytes(of: file)?.count == 1_000)
            // The stopped manager records the orphaned file and does not delete it.
            try await one.lfs.stop()
            try await one.device.execute("DELETE FROM recipe")
            for device in [one, two] { try await device.sync() }
            #expect(try await two.count("recipe") == 0)
            #expect(try await two.count("lfs_disowned") == 0)
            try await two.lfs.waitForDeletions()
            #expect(try await two.row(file) != nil)
            #expect(try files.storage.has(file))
            let again = try await files.manager(one.device.database)
            try await one.drain("lfs_file")
            for device in [one, two] { try await device.sync() }
            for device in [one, two] { try await device.settle() }
            #expect(try await two.row(file) == nil)
            #expect(files.storage.removed == [file.key])
            try await again.stop()
        }
    }

    @Test("An object is removed once, and only after the server accepts the deletion")
    func held() async throws {
        try await FileSync.run { files in
            try await files.pair { one, two, file in
                try await one.delete(file)
                one.device.transport.faults.withLock { $0.refusesPushes = true }
                for _ in 0..<2 {
                    await #expect(throws: SyncError.self) { try await one.sync() }
                    try await one.lfs.waitForDeletions()
                }
                #expect(try files.storage.has(file) && files.storage.removed.isEmpty)
                #expect(try await two.sync() == SyncReport())
                #expect(try await two.bytes(of: file)?.count == 1_000)
                // The reply is lost too, so the device sends the deletion twice.
                one.device.transport.faults.withLock {
                    $0.refusesPushes = false
                    $0.losesReplyOf = "/v1/sync/push"
                }
                await #expect(throws: SyncError.self) { try await one.sync() }
                #expect(files.storage.removed.isEmpty)
                for device in [one, two, one, two] { try await device.sync() }
                for device in [one, two] { try await device.settle() }
                #expect(files.storage.removed == [file.key])
                #expect(try await two.row(file) == nil)
            }
        }
    }

    @Test("A deletion that the server refuses restores the row and keeps the object")
    func rejected() async throws {
        try await FileSync.shared { files, ann, bob, file in
            // The album's link is deleted too, which Bob may not do either.
            try await bob.delete(file)
            #expect(try await bob.row(file) == nil)
            let report = try await bob.sync()
            #expect(report.rejected > 0)
            try await bob.lfs.waitForDeletions()
            let row = try #require(try await bob.row(file))
            #expect(row.status == .remote && row.url == file.url && row.sha256 == file.sha256)
            #expect(try await bob.lfs.hasLocalCopy(of: file.id))
            #expect(try await bob.count("lfs_tombstone") == 0)
            #expect(try files.storage.has(file) && files.storage.removed.isEmpty)
            try await ann.sync()
            #expect(try await ann.row(file) != nil)
            // The file still belongs to Ann and leaves with her album.
            try await files.unshare(ann)
            try await bob.sync()
            try await bob.settle()
            #expect(try await bob.row(file) == nil)
            #expect(try files.storage.has(file) && files.storage.removed.isEmpty)
        }
    }

    @Test("A file that is deleted during its upload leaves no object", arguments: [true, false])
    func duringUpload(serverKnows: Bool) async throws {
        try await FileSync.run { files in
            let (one, two) = (try await files.device("one"), try await files.device("two"))
            let gate = files.storage.hold(.upload)
            let file = try await one.made()
            await gate.isReached.wait()
            if serverKnows { for device in [one, two] { try await device.sync() } }
            try await one.delete(file)
            try await one.sync()
            gate.goesOn.open()
            try await one.settle()
            #expect(files.storage.memory.keys.isEmpty)
            for device in [one, two] { try await device.sync() }
            for device in [one, two] {
                #expect(try await device.row(file) == nil)
                #expect(try await !device.lfs.hasLocalCopy(of: file.id))
                #expect(try await device.count("lfs_job") == 0)
            }
        }
    }

    @Test("A deletion wins over a new name from another device in either order", arguments: [0, 1])
    func renamed(first: Int) async throws {
        try await FileSync.run { files in
            try await files.pair { one, two, file in
                try await one.delete(file)
                try await two.device.execute("UPDATE lfs_file SET name = 'new'")
                let order = first == 0 ? [one, two, one, two] : [two, one, two, one]
                for device in order { try await device.sync() }
                for device in [one, two] {
                    try await device.settle()
                    #expect(try await device.row(file) == nil)
                    #expect(try await !device.lfs.hasLocalCopy(of: file.id))
                    #expect(try await device.count("lfs_sync_outbox WHERE appliedAt IS NULL") == 0)
                }
                #expect(files.storage.removed == [file.key])
            }
        }
    }

    @Test("Equal content from two devices is two files, and either can be deleted")
    func twice() async throws {
        try await FileSync.run { files in
            let (one, two) = (try await files.device("one"), try await files.device("two"))
            let bytes = [UInt8](repeating: 7, count: 1_000)
            let (first, second) = (try await one.made(bytes), try await two.made(bytes))
            for device in [one, two] { try await device.lfs.waitForUploads() }
            for device in [one, two, one] { try await device.sync() }
            for device in [one, two] {
                for file in [first, second] { #expect(try await device.bytes(of: file) == Data(bytes)) }
            }
            try await one.delete(second)
            for device in [one, two] { try await device.sync() }
            for device in [one, two] { try await device.settle() }
            #expect(files.storage.removed == [second.key])
            for device in [one, two] {
                #expect(try await device.row(second) == nil)
                try await device.lfs.evict(first.id)
                #expect(try await device.bytes(of: first) == Data(bytes))
            }
        }
    }

    @Test("A scope lost and regained during the removal of its bytes returns the file", arguments: [0, 1])
    func regained(step: Int) async throws {
        try await FileSync.shared(startsBob: false) { files, ann, bob, file in
            try await files.unshare(ann)
            try await bob.sync()
            #expect(try await bob.row(file) == nil)
            #expect(try await bob.count("lfs_tombstone WHERE removesObject = 0") == 1)
            if step == 1 {
                // The worker does this before it removes the first byte.
                _ = try await bob.device.database.write { try TombstoneTable.beginRemoval(of: [file.id.text], $0) }
            }
            try await files.share(ann)
            let report = try await bob.sync()
            // The row and its references stay parked while the bytes are being removed.
            #expect(report.parked == (step == 0 ? 0 : 2))
            #expect(try await (bob.row(file) != nil) == (step == 0))
            try bob.lfs.start()
            try await bob.settle()
            #expect(try await bob.sync().parked == 0)
            #expect(try await bob.row(file)?.status == .remote)
            #expect(try await bob.lfs.hasLocalCopy(of: file.id) == (step == 0))
            #expect(try await bob.bytes(of: file)?.count == 1_000)
            #expect(try await bob.count("album_file") == 1)
            #expect(files.storage.removed.isEmpty)
        }
    }
}
