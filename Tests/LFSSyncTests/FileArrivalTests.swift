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

@Suite("K: files of other devices, and one's own that come back", .timeLimit(.minutes(10)))
struct FileArrivalTests {
    @Test(
        "1 a file that is not uploaded yet is known and reads nil; 2 uploaded, it comes whole; 3 nobody else sends it")
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

    @Test("4 an own file that comes back without its bytes is a known loss, and nothing is sent or removed for it")
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
            // Its deletion ends it everywhere.
            try await next.delete(file)
            for device in [next, two] { try await device.sync() }
            try await next.settle()
            #expect(try await two.row(file) == nil)
        }
    }

    /// The server has all devices begin anew.
    private func beginAnew(_ files: FileSync) async throws {
        try await files.sync.execute("UPDATE sync_session SET resetReason = 'operator'")
    }

    @Test("18 a download under way when its scope is lost leaves no bytes here, and the object")
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
            // Its reader may have the bytes still, or an error.
            _ = await read
            try await bob.settle()
            #expect(try await bob.row(file) == nil)
            #expect(try await !bob.lfs.hasLocalCopy(of: file.id))
            #expect(try files.storage.has(file) && files.storage.removed.isEmpty)
        }
    }

    @Test("19 freeing space and a verification that removes all it may leave other devices' files as they are")
    func freeAndVerify() async throws {
        try await FileSync.run { files in
            try await files.pair { one, two, file in
                let own = try await two.uploaded()
                one.lfs.pause()
                let pending = try await one.made()
                // This one no server has told of.
                one.lfs.resume()
                try await one.lfs.waitForUploads()
                one.lfs.pause()
                let unknown = try await one.made()
                for device in [one, two] { try await device.sync() }
                #expect(try await two.lfs.evictAll().evicted.files == 2)
                var options = VerifyOptions()
                (options.checksContent, options.readsRemote, options.repairs) = (true, true, true)
                (options.removesUnknown, options.localGracePeriod, options.remoteGracePeriod) = (true, .zero, .zero)
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

    @Test("20 a reset of the manager takes nothing from the server, the storage, or another device")
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
                // When all of it comes again, this device has it again.
                try await beginAnew(files)
                try await next.sync()
                for file in [file, own] { #expect(try await next.bytes(of: file)?.count == 1_000) }
                #expect(try await next.count("recipe") == 1)
            }
        }
    }

    @Test("24 a copy of database and folder on another machine loses no file of either", arguments: [true, false])
    func copied(hasNewSession: Bool) async throws {
        try await FileSync.run { files in
            let one = try await files.device("one")
            let (old, kept) = (try await one.uploaded(), try await one.uploaded())
            try await one.sync()
            // As a backup that another machine is set up from.
            let folder = files.sync.folder.appending(path: "other")
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            let database = try DatabasePool(path: folder.appending(path: "one.sqlite").path)
            try one.device.database.backup(to: database)
            try FileManager.default.copyItem(
                at: files.sync.folder.appending(path: "one.sqlite.lfs"), to: folder.appending(path: "one.sqlite.lfs"))
            let token = hasNewSession ? try await files.sync.service.addSession(account: "ann") : one.device.token
            let transport = ServiceTransport(files.sync.service)
            let device = TestSync.Device(
                database: database, client: try await TestSync.client(database, transport, token),
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
