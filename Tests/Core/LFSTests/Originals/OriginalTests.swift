import Foundation
import GRDB
import LFS
import LFSStorage
import TestSupport
import Testing

@Suite("Originals in their places", .timeLimit(.minutes(10)))
struct OriginalTests {
    /// A file of the user outside the folders of LFS.
    private func write(_ bytes: [UInt8], in host: TestHost, name: String = "photo.jpg") throws -> URL {
        let url = host.folder.appendingPathComponent(name)
        try Data(bytes).write(to: url)
        return url
    }

    private func attach(_ url: URL, host: TestHost, lfs: LFSManager) async throws -> FileData {
        let file = try await lfs.makeFile(from: .original(url))
        try await host.database.write { try file.insert($0) }
        return file
    }

    @Test("An original is uploaded from its place without a copy", arguments: Connection.allCases)
    func upload(connection: Connection) async throws {
        let storage = InMemoryStorage()
        try await withLFS(connection, storage: storage) { host, lfs in
            let bytes = someBytes(300_000)
            let url = try write(bytes, in: host)
            let file = try await attach(url, host: host, lfs: lfs)
            #expect(file.name == "photo.jpg" && file.byteCount == 300_000)
            try await lfs.waitForUploads()
            #expect(try host.file(file.id)?.status == .remote)
            #expect(storage.bytes(of: try ObjectKey(file.key)) == bytes)
            #expect(try host.filesInStore().isEmpty)
            #expect(try Data(contentsOf: url) == Data(bytes))
        }
    }

    @Test("Many originals are attached in one call, and an unreadable one fails alone")
    func many() async throws {
        try await withLFS { host, lfs in
            let urls = try (0..<40).map { try write(someBytes(5_000 + $0), in: host, name: "\($0).jpg") }
            let missing = host.folder.appendingPathComponent("missing.jpg")
            let made = try await lfs.makeFiles(from: (urls + [missing]).map(FileSource.original))
            #expect(made.last.map { (try? $0.get()) == nil } == true)
            let files = try made.dropLast().map { try $0.get() }
            try await host.database.write { db in for file in files { try file.insert(db) } }
            try await lfs.waitForUploads()
            #expect(try host.count("lfs_file WHERE status = 'remote'") == 40)
            #expect(try host.filesInStore().isEmpty)
        }
    }

    @Test("A read uses the original while it is unchanged, and the object afterwards")
    func reading() async throws {
        let storage = InMemoryStorage()
        try await withLFS(storage: storage) { host, lfs in
            let bytes = someBytes()
            let url = try write(bytes, in: host)
            let file = try await attach(url, host: host, lfs: lfs)
            #expect(try await read(file, lfs: lfs) == bytes)
            try await lfs.waitForUploads()
            #expect(try await lfs.hasLocalCopy(of: file.id))
            #expect(try await lfs.localURL(of: file)?.path == url.path)
            try Data(someBytes()).write(to: url)
            #expect(try await !lfs.hasLocalCopy(of: file.id))
            #expect(try await read(file, lfs: lfs) == bytes)
            #expect(try host.filesInStore() == [file.id])
        }
    }

    @Test("An original that changes before its upload is not uploaded", arguments: OriginalChange.allCases)
    func changed(_ change: OriginalChange) async throws {
        let storage = InMemoryStorage()
        try await withLFS(storage: storage, expectsLeftovers: true) { host, lfs in
            let bytes = someBytes()
            let url = try write(bytes, in: host)
            let file = try await lfs.makeFile(from: .original(url))
            try change.apply(to: url)
            try await host.database.write { try file.insert($0) }
            try await lfs.waitForUploads()
            let upload = try await host.database.read { try Upload.fetchOne($0, key: file.id) }
            #expect(upload?.state == .failed && upload?.code == .sourceChanged, "\(String(describing: upload))")
            #expect(upload?.reason?.contains("photo.jpg") == true, "\(upload?.reason ?? "")")
            #expect(storage.keys.isEmpty)
            #expect(try host.file(file.id)?.status == .local)
            #expect(await errorCode { _ = try await lfs.data(of: file) } == .bytesMissing)
        }
    }

    @Test("An original that got another time but kept its bytes is uploaded")
    func touched() async throws {
        try await withLFS { host, lfs in
            let url = try write(someBytes(), in: host)
            let file = try await lfs.makeFile(from: .original(url))
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: 7)], ofItemAtPath: url.path)
            try await host.database.write { try file.insert($0) }
            try await lfs.waitForUploads()
            #expect(try host.file(file.id)?.status == .remote)
        }
    }

    @Test("An upload waits for the disk of an original that is not mounted")
    func absentDisk() async throws {
        try await withLFS { host, lfs in
            let url = try write(someBytes(), in: host)
            let file = try await lfs.makeFile(from: .original(url))
            let away = host.folder.appendingPathComponent("away.jpg")
            try FileManager.default.moveItem(at: url, to: away)
            try await host.database.write { db in
                try file.insert(db)
                // A number that no file system has.
                try db.execute(sql: "UPDATE lfs_original SET device = -7")
            }
            try await yield(while: try host.count("lfs_job WHERE errorCode = 'sourceAbsent'") == 0)
            #expect(try host.count("lfs_job WHERE state = 'queued'") == 1)
            try FileManager.default.moveItem(at: away, to: url)
            try await lfs.waitForUploads()
            #expect(try host.file(file.id)?.status == .remote)
        }
    }

    @Test("A deletion keeps the original, and can be undone until it is carried out")
    func deletion() async throws {
        let storage = InMemoryStorage()
        try await withLFS(storage: storage) { host, lfs in
            let bytes = someBytes()
            let url = try write(bytes, in: host)
            let file = try await attach(url, host: host, lfs: lfs)
            try await lfs.waitForUploads()
            let row = try #require(try host.file(file.id))
            try await host.database.write { db in
                try row.delete(db)
                try row.insert(db)
            }
            #expect(try host.count("lfs_original") == 1)
            #expect(try await read(row, lfs: lfs) == bytes)
            _ = try await host.database.write { try row.delete($0) }
            try await lfs.waitForDeletions()
            #expect(try host.count("lfs_original") == 0)
            #expect(storage.keys.isEmpty)
            #expect(try Data(contentsOf: url) == Data(bytes))
        }
    }

    @Test("A rollback leaves nothing of an original, and the original itself stays")
    func rollback() async throws {
        try await withLFS { host, lfs in
            let url = try write(someBytes(), in: host)
            struct Stop: Error {}
            await #expect(throws: Stop.self) {
                try await lfs.withFile(from: .original(url)) { file in
                    try await host.database.write { db in
                        try file.insert(db)
                        throw Stop()
                    }
                }
            }
            #expect(try host.count("lfs_original") == 0)
            #expect(FileManager.default.fileExists(atPath: url.path))
        }
    }

    @Test("A verification accepts an unchanged original, and repairs a lost object with it")
    func verification() async throws {
        let storage = InMemoryStorage()
        try await withLFS(storage: storage) { host, lfs in
            let url = try write(someBytes(), in: host)
            let file = try await attach(url, host: host, lfs: lfs)
            _ = try await attach(try write(someBytes(), in: host, name: "other.jpg"), host: host, lfs: lfs)
            try await lfs.waitForUploads()
            #expect(try await lfs.verify().findings.isEmpty)
            try await storage.delete(try ObjectKey(file.key), abandoning: nil)
            var options = VerifyOptions()
            options.repairs = true
            let report = try await lfs.verify(options)
            #expect(report.findings == [.missingRemotely: 1])
            try await lfs.waitForUploads()
            #expect(storage.keys.map(\.rawValue).contains(file.key))
            // A changed original is not damage while the storage has the object.
            try Data(someBytes()).write(to: url)
            #expect(try await lfs.verify().findings.isEmpty)
        }
    }

    @Test("A reader of another connection uses an original while it is unchanged")
    func readerOfAnotherConnection() async throws {
        try await withLFS { host, lfs in
            let bytes = someBytes()
            let url = try write(bytes, in: host)
            let file = try await attach(url, host: host, lfs: lfs)
            let reader = try await LFSReader(host.database)
            #expect(try await reader.data(of: file.id) == Data(bytes))
            #expect(try await reader.localURL(of: file.id)?.path == url.path)
            try await lfs.waitForUploads()
            try Data(someBytes()).write(to: url)
            #expect(try await reader.data(of: file.id) == nil)
        }
    }

    @Test("A restore from an original makes a copy")
    func restore() async throws {
        try await withLFS { host, lfs in
            let bytes = someBytes()
            let file = try await lfs.makeFile(from: .bytes(bytes))
            try await host.database.write { try file.insert($0) }
            try await lfs.waitForUploads()
            try await lfs.restore(file.id, from: .original(try write(bytes, in: host)))
            #expect(try host.filesInStore() == [file.id])
        }
    }
}
