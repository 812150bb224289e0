import Foundation
import GRDB
import LFS
import LFSBackup
import LFSDatabase
import LFSStorage
import LFSSystem
import Synchronization
import TestSupport
import Testing

@Suite("Changed originals", .timeLimit(.minutes(10)))
struct ChangeTests {
    @Test("An unchanged original is not read again, and a touched one keeps its file")
    func unchanged() async throws {
        try await withPhotoApp { app in
            let url = try app.write("one.jpg", bytes: someBytes())
            try await app.backUp()
            let file = try #require(try await app.file("one.jpg"))
            let read = Mutex<Int64>(0)
            let report = try await app.backUp { event in
                if case .read(let count) = event { read.withLock { $0 += count } }
            }
            #expect(report.unchanged == 1 && read.withLock { $0 } == 0)
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: 7)], ofItemAtPath: url.path)
            #expect(try await app.backUp().unchanged == 1)
            #expect(try await app.file("one.jpg")?.id == file.id)
            try await app.lfs.waitForUploads()
            #expect(app.storage.uploads == 1)
        }
    }

    @Test("An original with new permissions is read once, not uploaded, and reported")
    func permissions() async throws {
        try await withPhotoApp { app in
            let url = try app.write("one.jpg", bytes: someBytes())
            try await app.backUp()
            try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: url.path)
            let read = Mutex<Int64>(0)
            let touched = Heard<String>()
            let host = BackupHost(
                touch: { _, stamp, _, _ in touched.add(stamp.text) }, insert: { try app.insert($0, $1) })
            let source = FolderSource([BackupGroup(app.pictures.path, mode: .include)])
            let backup = Backup(app.lfs, database: app.database, source: source, host: host)
            let report = try await backup.run { if case .read(let count) = $0 { read.withLock { $0 += count } } }
            #expect(report.touched == 1 && report.attached == 0 && read.withLock { $0 } == 1_000)
            #expect(FileAttributes(stamp: try #require(touched.values.first))?.permissions?.mode == 0o640)
            #expect(try await backup.run().touched == 0)
            #expect(app.storage.uploads <= 1)
        }
    }

    @Test("New permissions do not hide a change that keeps size and time")
    func secretPermissions() async throws {
        try await withPhotoApp { app in
            let (before, after) = (someBytes(), someBytes())
            let url = try app.write("one.jpg", bytes: before)
            try await app.backUp()
            try await app.lfs.waitForUploads()
            try app.overwriteInSecret("one.jpg", bytes: after)
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: url.path)
            #expect(try await app.backUp().attached == 1)
            #expect(try await app.bytes("one.jpg") == after)
        }
    }

    @Test("A change that keeps size and modification time is found and replaces the file")
    func inSecret() async throws {
        try await withPhotoApp { app in
            let (before, after) = (someBytes(), someBytes())
            try app.write("one.jpg", bytes: before)
            try await app.backUp()
            try await app.lfs.waitForUploads()
            let file = try #require(try await app.file("one.jpg"))
            try app.overwriteInSecret("one.jpg", bytes: after)
            #expect(try await app.backUp().attached == 1)
            try await app.lfs.waitForUploads()
            #expect(try await app.bytes("one.jpg") == after)
            try await app.lfs.waitForDeletions()
            #expect(try await app.database.read { try FileData.fetchOne($0, key: file.id) } == nil)
            #expect(app.storage.memory.keys.count == 1)
            #expect(try await app.count("lfs_source WHERE state = 'declined'") == 0)
        }
    }

    @Test("An original that changes while it is read is reported and taken the next time")
    func whileRead() async throws {
        try await withPhotoApp { app in
            let (before, after) = (someBytes(2_000_000), someBytes(2_000_000))
            try app.write("one.jpg", bytes: before)
            let hasChanged = Mutex(false)
            let failures = Heard<String>()
            let report = try await app.backUp { event in
                if case .failed(_, let reason) = event { failures.add(reason) }
                guard case .read = event,
                    hasChanged.withLock({
                        let before = $0; $0 = true; return !before
                    })
                else { return }
                do { try app.overwriteInSecret("one.jpg", bytes: after) } catch { Issue.record(error) }
            }
            #expect(hasChanged.withLock { $0 })
            #expect(report.failed == 1 && report.attached == 0)
            #expect(failures.values.first?.contains("changed while it was read") == true)
            #expect(try await app.count("photo") == 0)
            #expect(try await app.backUp().attached == 1)
            #expect(try await app.bytes("one.jpg") == after)
        }
    }

    @Test("A wrong hash in the records is corrected by reading the original again")
    func wrongNote() async throws {
        try await withPhotoApp { app in
            try app.write("one.jpg", bytes: someBytes())
            try await app.backUp()
            let file = try #require(try await app.file("one.jpg"))
            for change in ["sha256 = '\(String(repeating: "0", count: 64))'", "byteCount = 1"] {
                try await app.run("UPDATE lfs_source SET \(change)")
                #expect(try await app.backUp().unchanged == 1)
                #expect(try await app.count("lfs_source WHERE sha256 = '\(file.sha256)' AND byteCount = 1000") == 1)
            }
            // Values that no program of this package has written are ignored.
            try await app.run("UPDATE lfs_source SET fileID = 'no id'")
            _ = try await app.backUp()
            #expect(try await app.backUp().unchanged == 1)
            #expect(try await app.file("one.jpg")?.sha256 == file.sha256)
        }
    }

    @Test("An upload that fails because of damaged bytes is restored from the original")
    func wrongFile() async throws {
        try await withPhotoApp { app in
            let bytes = someBytes()
            try app.write("one.jpg", bytes: bytes)
            try await app.lfs.holdUploads(because: "of the test")
            var options = BackupOptions()
            options.copiesOriginals = true
            try await app.backUp(options: options)
            let file = try #require(try await app.file("one.jpg"))
            // The local bytes rot before the upload, as if the recorded hash were wrong. The store receives them in the
            // background, after the commit.
            let path = app.folder.appendingPathComponent("photos.sqlite.lfs/\(file.id.uuidString)").path
            try await yield(while: !FileManager.default.fileExists(atPath: path))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
            let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
            try handle.write(contentsOf: someBytes())
            try handle.close()
            try await app.lfs.releaseUploads()
            let summary = try await app.lfs.waitForUploads()
            #expect(summary.failures.map(\.code) == [StorageError.Code.sourceChanged])
            let report = try await app.backUp()
            #expect(report.restored == 1)
            #expect(try await app.lfs.waitForUploads().failed == 0)
            #expect(app.storage.memory.keys.map(\.rawValue) == [file.key])
            #expect(try await app.bytes("one.jpg") == bytes)
        }
    }

    @Test("The new bytes of an original replace its damaged file")
    func damagedAndChanged() async throws {
        try await withPhotoApp { app in
            try app.write("one.jpg", bytes: someBytes())
            try await app.backUp()
            try await app.lfs.waitForUploads()
            let file = try #require(try await app.file("one.jpg"))
            let now = Date().millisecondsSince1970
            try await app.database.write { try JobTable.noteDamage(of: file.id, "other bytes", now: now, $0) }
            let after = someBytes()
            try app.write("one.jpg", bytes: after)
            #expect(try await app.backUp().attached == 1)
            try await app.lfs.waitForUploads()
            try await app.lfs.waitForDeletions()
            #expect(try await app.bytes("one.jpg") == after)
            #expect(app.storage.memory.keys.count == 1)
        }
    }

    @Test("A touched original with a damaged file gets a new file")
    func damagedAndTouched() async throws {
        try await withPhotoApp { app in
            let url = try app.write("one.jpg", bytes: someBytes())
            try await app.backUp()
            try await app.lfs.waitForUploads()
            let file = try #require(try await app.file("one.jpg"))
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: 7)], ofItemAtPath: url.path)
            var options = BackupOptions()
            options.damaged = [file.id]
            let report = try await app.backUp(nil, options: options)
            #expect(report.attached == 1 && report.shared == 0)
            #expect(try await app.file("one.jpg")?.id != file.id)
            try await app.lfs.waitForDeletions()
            #expect(try await app.database.read { try FileData.fetchOne($0, key: file.id) } == nil)
        }
    }

    @Test("An original that the app refuses is reported, and the others are attached")
    func refused() async throws {
        try await withPhotoApp { app in
            for name in ["one.jpg", "two.jpg", "three.jpg"] { try app.write(name, bytes: someBytes()) }
            let host = BackupHost { attachment, db in
                if attachment.asset.name == "two.jpg" { throw BackupError(.refused, message: "no two") }
                try app.insert(attachment, db)
            }
            let source = FolderSource([BackupGroup(app.pictures.path, mode: .include)])
            let report = try await Backup(app.lfs, database: app.database, source: source, host: host).run()
            #expect(report.attached == 2 && report.failed == 1)
            #expect(try await app.count("lfs_file") == 2)
            #expect(try await app.count("lfs_source") == 2)
        }
    }
}
