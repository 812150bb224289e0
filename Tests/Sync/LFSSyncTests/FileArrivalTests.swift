import Foundation
import GRDB
import LFS
import LFSStorage
import LFSSystem
import LFSTesting
import TestSupport
import Testing

@testable import LFSSync
@testable import LFSSyncServer

@Suite("Arrival of files", .timeLimit(.minutes(10)))
struct FileArrivalTests {
    @Test("A file of another device has no bytes until its owner has uploaded it")
    func arrival() async throws {
        try await FileSync.run { files in
            let (one, two) = (try await files.device("one"), try await files.device("two"))
            let gate = files.storage.hold(.upload)
            let bytes = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
            let file = try await one.made(bytes)
            await gate.isReached.wait()
            for device in [one, two] { try await device.sync() }
            #expect(try await two.row(file)?.status == .local)
            #expect(try await two.bytes(of: file) == nil)
            #expect(try await two.count("lfs_job") == 0)
            gate.goesOn.open()
            try await one.lfs.waitForUploads()
            for device in [one, two] { try await device.sync() }
            let row = try #require(try await two.row(file))
            #expect(row.status == .remote && row.sha256 == file.sha256 && row.name == "photo")
            #expect(try await two.bytes(of: file) == Data(bytes))
            #expect(try await two.count("lfs_job") == 0)
            for device in [one, two] { #expect(try await device.sync() == SyncReport()) }
        }
    }

    @Test("A device's own file that returns without its bytes is reported as missing")
    func ownLoss() async throws {
        try await FileSync.run { files in
            let (one, two) = (try await files.device("one"), try await files.device("two"))
            one.lfs.pause()
            let file = try await one.made()
            for device in [one, two] { try await device.sync() }
            try await one.lfs.reset(.loseFilesThatAreNotUploaded(1))
            let next = FileDevice(device: one.device, lfs: try await files.manager(one.device.database))
            try await next.settle()
            try await beginAnew(files)
            for device in [next, two] { try await device.sync() }
            #expect(try await next.row(file)?.status == .local)
            #expect(try await next.count("lfs_job") == 0)
            let error = await #expect(throws: LFSError.self) { try await next.bytes(of: file) }
            #expect(error?.code == .bytesMissing)
            #expect(try await two.row(file) != nil)
            #expect(files.storage.memory.keys.isEmpty)
            // Deleting the file removes it on all devices.
            try await next.delete(file)
            for device in [next, two] { try await device.sync() }
            try await next.settle()
            #expect(try await two.row(file) == nil)
        }
    }

    /// Makes the server request a full resync from all devices.
    private func beginAnew(_ files: FileSync) async throws {
        try await files.sync.execute("UPDATE sync_session SET resetReason = 'operator'")
    }

    @Test("A download in progress when its scope is lost leaves no local copy")
    func download() async throws {
        try await FileSync.shared { files, ann, bob, file in
            try await bob.lfs.evict(file.id)
            let gate = files.storage.hold(.download)
            async let read = Result.catching { try await bob.bytes(of: file) }
            await gate.isReached.wait()
            try await files.unshare(ann)
            try await bob.sync()
            try await bob.settle()
            gate.goesOn.open()
            // The read returns the bytes or an error.
            _ = await read
            try await bob.settle()
            #expect(try await bob.row(file) == nil)
            #expect(try await !bob.lfs.hasLocalCopy(of: file.id))
            #expect(try files.storage.has(file) && files.storage.removed.isEmpty)
        }
    }

    @Test("Eviction and verification leave files of other devices unchanged")
    func freeAndVerify() async throws {
        try await FileSync.run { files in
            try await files.pair { one, two, file in
                let own = try await two.uploaded()
                one.lfs.pause()
                let pending = try await one.made()
                // The server does not know this file.
                one.lfs.resume()
                try await one.lfs.waitForUploads()
                one.lfs.pause()
                let unknown = try await one.made()
                for device in [one, two] { try await device.sync() }
                #expect(try await two.lfs.evictAll().evicted.files == 2)
                var options = VerifyOptions()
                options.checksContent = true
                options.readsRemote = true
                options.repairs = true
                options.removesUnknown = true
                options.localGracePeriod = .zero
                options.remoteGracePeriod = .zero
                let findings = EventLog<VerifyFinding>()
                try await two.lfs.verify(options) { findings.add($0) }
                #expect(findings.events.map(\.description) == [])
                #expect(try await two.count("lfs_job") == 0)
                for file in [file, own, pending] {
                    #expect(try files.storage.has(file))
                    #expect(try await two.bytes(of: file)?.count == 1_000)
                }
                #expect(try await two.bytes(of: unknown) == nil)
                #expect(files.storage.removed.isEmpty)
                one.lfs.resume()
                try await one.lfs.waitForUploads()
            }
        }
    }

    @Test("Resetting the manager removes nothing from the server or other devices")
    func reset() async throws {
        try await FileSync.run { files in
            try await files.pair { one, two, file in
                let own = try await two.uploaded()
                try await two.device.execute(
                    "INSERT INTO recipe (id, title, photoID) VALUES ('r', 'x', '\(own.id.text)')")
                for device in [two, one] { try await device.sync() }
                try await two.lfs.reset(.everythingIsUploaded) { db in
                    try db.execute(sql: "DELETE FROM recipe")
                }
                let next = FileDevice(device: two.device, lfs: try await files.manager(two.device.database))
                for device in [next, one] { try await device.sync() }
                try await next.lfs.waitForDeletions()
                #expect(try await one.count("recipe") == 1)
                for file in [file, own] {
                    #expect(try files.storage.has(file))
                    #expect(try await one.bytes(of: file)?.count == 1_000)
                }
                #expect(files.storage.removed.isEmpty)
                // A full resync restores everything on this device.
                try await beginAnew(files)
                try await next.sync()
                for file in [file, own] { #expect(try await next.bytes(of: file)?.count == 1_000) }
                #expect(try await next.count("recipe") == 1)
            }
        }
    }

    @Test("A copy of the database and its folder on another machine loses no file", arguments: [true, false])
    func copied(hasNewSession: Bool) async throws {
        try await FileSync.run { files in
            let one = try await files.device("one")
            let (old, kept) = (try await one.uploaded(), try await one.uploaded())
            try await one.sync()
            // The other machine is set up from a backup.
            let folder = files.sync.folder.appending(path: "other")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let database = try DatabasePool(path: folder.appending(path: "one.sqlite").path)
            try one.device.database.backup(to: database)
            try FileManager.default.copyItem(
                at: files.sync.folder.appending(path: "one.sqlite.lfs"), to: folder.appending(path: "one.sqlite.lfs"))
            let token = hasNewSession ? try await files.sync.service.addSession(account: "ann") : one.device.token
            let transport = ServiceTransport(files.sync.service)
            let device = TestSync.Device(
                database: database, client: try await TestSync.client(database, transport: transport, token: token),
                transport: transport, token: token)
            let copy = FileDevice(device: device, lfs: try await files.manager(database))
            let (first, second) = (try await one.uploaded(), try await copy.uploaded())
            try await copy.delete(old)
            for _ in 0..<3 { for device in [one, copy] { try await device.sync() } }
            for device in [one, copy] { try await device.settle() }
            #expect(files.storage.removed == [old.key])
            for device in [one, copy] {
                #expect(try await device.row(old) == nil)
                for file in [kept, first, second] {
                    #expect(try files.storage.has(file))
                    #expect(try await device.bytes(of: file)?.count == 1_000)
                }
            }
        }
    }
}
