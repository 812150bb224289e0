import Foundation
import GRDB
import LFS
import LFSStorage
import Synchronization
import TestSupport
import Testing

@Suite("Attaching files in transactions of the app", .timeLimit(.minutes(10)))
struct AttachTests {
    private struct Failure: Error {}

    @Test("An inserted file moves into the store on commit and is uploaded", arguments: Connection.allCases)
    func insertedFileIsUploaded(connection: Connection) async throws {
        let storage = InMemoryStorage()
        try await withLFS(connection, storage: storage) { host, lfs in
            let bytes = someBytes()
            let photo = try await lfs.makeFile(from: .bytes(bytes), name: "toast.jpg")
            #expect(try host.filesInTemporary() == [photo.id])
            try await host.database.write { db in
                try photo.insert(db)
                try Recipe(title: "French toast", photoId: photo.id).insert(db)
            }
            #expect(try await lfs.waitForUploads().failures.isEmpty)
            let row = try #require(try host.file(photo.id))
            #expect(row.status == .remote)
            #expect(row.url != nil)
            #expect(row.contentType == "image/jpeg")
            #expect(row.byteCount == 1_000)
            #expect(storage.bytes(of: try ObjectKey(row.key)) == bytes)
            #expect(try host.filesInStore() == [photo.id])
            let mode = try FileManager.default.attributesOfItem(
                atPath: host.store.appendingPathComponent(photo.id.uuidString).path)
            #expect(mode[.posixPermissions] as? Int == 0o400)
        }
    }

    @Test("A rollback promotes nothing, queues nothing, and the file can be inserted again")
    func rollback() async throws {
        try await withLFS { host, lfs in
            let photo = try await lfs.makeFile(from: .bytes(someBytes()))
            await #expect(throws: Failure.self) {
                try await host.database.write { db in
                    try photo.insert(db)
                    throw Failure()
                }
            }
            #expect(try host.filesInStore().isEmpty)
            #expect(try host.filesInTemporary() == [photo.id])
            #expect(try host.count("lfs_job") == 0)
            try await host.database.write { try photo.insert($0) }
            try await lfs.waitForUploads()
            #expect(try host.file(photo.id)?.status == .remote)
        }
    }

    @Test("A savepoint that is rolled back drops its file, and the other file is attached")
    func savepoint() async throws {
        try await withLFS(expectsLeftovers: true) { host, lfs in
            let kept = try await lfs.makeFile(from: .bytes(someBytes()))
            let dropped = try await lfs.makeFile(from: .bytes(someBytes()))
            try await host.database.write { db in
                try kept.insert(db)
                try db.inSavepoint {
                    try dropped.insert(db)
                    return .rollback
                }
            }
            try await lfs.waitForUploads()
            #expect(try host.filesInStore() == [kept.id])
            #expect(try host.filesInTemporary() == [dropped.id])
            #expect(try host.count("lfs_file") == 1)
        }
    }

    @Test("A failed commit promotes nothing")
    func failedCommit() async throws {
        try await withLFS(expectsLeftovers: true) { host, lfs in
            let photo = try await lfs.makeFile(from: .bytes(someBytes()))
            await #expect(throws: DatabaseError.self) {
                try await host.database.write { db in
                    try db.execute(sql: "PRAGMA defer_foreign_keys = ON")
                    try photo.insert(db)
                    try Recipe(title: "Dangling", photoId: FileID("01890000-0000-7000-8000-000000000001")).insert(db)
                }
            }
            #expect(try host.filesInStore().isEmpty)
            #expect(try host.count("lfs_job") == 0)
        }
    }

    @Test("A row that raw SQL inserts is uploaded as well")
    func rawSQL() async throws {
        try await withLFS { host, lfs in
            let photo = try await lfs.makeFile(from: .bytes(someBytes()))
            try await host.database.write { db in
                try db.execute(
                    sql: """
                        INSERT INTO lfs_file (id, status, byteCount, sha256, key, createdAt)
                        VALUES (?, 'local', ?, ?, ?, datetime('now'))
                        """,
                    arguments: [photo.id, photo.byteCount, photo.sha256, photo.key])
            }
            try await lfs.waitForUploads()
            #expect(try host.file(photo.id)?.status == .remote)
        }
    }

    @Test("Inserting a file whose bytes are missing fails with `bytesMissing`")
    func bytesNowhere() async throws {
        try await withLFS { host, lfs in
            let photo = try await lfs.makeFile(from: .bytes(someBytes()))
            try await lfs.discard(photo)
            let code = await errorCode { try await host.database.write { try photo.insert($0) } }
            #expect(code == .bytesMissing)
            #expect(try host.count("lfs_file") == 0)
        }
    }

    @Test("Files that are inserted together are all uploaded")
    func together() async throws {
        let storage = InMemoryStorage()
        try await withLFS(storage: storage) { host, lfs in
            let bytes = (0..<45).map { _ in someBytes() }
            let files = try await lfs.makeFiles(from: bytes.map { .bytes($0) }).map { try $0.get() }
            let updates = try await host.database.write { db in
                try FileData.insertRows(files, db)
                return try files.compactMap { try FileData.find(db, id: $0.id).updateID }
            }
            #expect(updates == updates.sorted() && Set(updates).count == 45)
            #expect(try await lfs.waitForUploads().failures.isEmpty)
            let uploaded = try await host.database.read { db in try FileData.all().offloaded().fetchAll(db) }
            #expect(uploaded.count == 45 && uploaded.allSatisfy { $0.url != nil })
            #expect(try host.count("lfs_job") == 0)
            for (file, bytes) in zip(files, bytes) { #expect(storage.bytes(of: try ObjectKey(file.key)) == bytes) }
        }
    }

    @Test("Among files that are inserted together, the one without bytes is named", arguments: [0, 20, 44])
    func missingTogether(_ index: Int) async throws {
        try await withLFS(expectsLeftovers: true) { host, lfs in
            let files = try await lfs.makeFiles(from: (0..<45).map { _ in .bytes(someBytes()) }).map { try $0.get() }
            try await lfs.discard(files[index])
            let error = await #expect(throws: LFSError.self) {
                try await host.database.write { db in try FileData.insertRows(files, db) }
            }
            #expect(error?.code == .bytesMissing && error?.fileID == files[index].id)
            #expect(try host.count("lfs_file") == 0)
        }
    }

    @Test("A row from another device is accepted, and that device uploads it")
    func otherDevice() async throws {
        try await withLFS { host, lfs in
            let id = try #require(FileID("01890000-0000-7000-8000-000000000001"))
            try await host.database.write { db in
                try db.execute(
                    sql: """
                        INSERT INTO lfs_file (id, status, byteCount, sha256, key, createdAt)
                        VALUES (?, 'local', 5, ?, ?, datetime('now'))
                        """,
                    arguments: [id, String(repeating: "a", count: 64), "ffffffffffffffffffffffffffffffff/\(id)"])
            }
            try await lfs.waitForUploads()
            let row = try #require(try host.file(id))
            #expect(row.status == .local)
            #expect(try host.count("lfs_job") == 0)
            #expect(try await lfs.contents(of: row) == nil)
            #expect(try await lfs.localURL(of: row) == nil)
        }
    }

    @Test("A file that is committed before the start is readable and uploads afterwards")
    func beforeTheStart() async throws {
        try await withHost { host in
            try await withManager(host, starts: false) { lfs in
                let bytes = someBytes()
                let photo = try await lfs.makeFile(from: .bytes(bytes))
                try await host.database.write { try photo.insert($0) }
                #expect(try host.count("lfs_job WHERE state = 'queued'") == 1)
                #expect(try await lfs.bytes(of: photo, range: 0..<1_000) == Data(bytes))
                #expect(try host.filesInTemporary() == [photo.id])
                #expect(try host.filesInStore() == [])
                try lfs.start()
                try await lfs.waitForUploads()
                try await yield(while: host.filesInStore() != [photo.id])
                #expect(try host.filesInTemporary() == [])
            }
        }
    }

    @Test("A file inserted into another database counts as a file of another device")
    func otherDatabase() async throws {
        try await withHost { first in
            var options = first.options
            options.temporaryFileGracePeriod = .zero
            let made = Mutex<FileData?>(nil)
            try await withManager(first, options: options) { lfs in
                let photo = try await lfs.makeFile(from: .bytes(someBytes()))
                made.withLock { $0 = photo }
            }
            let photo = try #require(made.withLock { $0 })
            #expect(try first.filesInTemporary() == [photo.id])
            try await withLFS { second, lfs in
                try await second.database.write { try photo.insert($0) }
                try await lfs.waitForUploads()
                #expect(try second.file(photo.id)?.status == .local)
                #expect(try second.count("lfs_job") == 0)
                #expect(try await lfs.contents(of: photo) == nil)
            }
            try await withManager(first, options: options) { _ in }
            #expect(try first.filesInTemporary() == [])
        }
    }

    @Test("An empty file is attached and uploaded")
    func emptyFile() async throws {
        let storage = InMemoryStorage()
        try await withLFS(storage: storage) { host, lfs in
            let file = try await lfs.makeFile(from: .bytes([UInt8]()))
            try await host.database.write { try file.insert($0) }
            try await lfs.waitForUploads()
            #expect(storage.bytes(of: try ObjectKey(file.key)) == [])
        }
    }

    @Test("A thousand files in one transaction are all uploaded")
    func manyInOneTransaction() async throws {
        let storage = InMemoryStorage()
        try await withLFS(storage: storage) { host, lfs in
            var files: [FileData] = []
            for _ in 0..<1_000 { files.append(try await lfs.makeFile(from: .bytes(someBytes(10)))) }
            let all = files
            try await host.database.write { db in for file in all { try file.insert(db) } }
            try await lfs.waitForUploads()
            #expect(storage.keys.count == 1_000)
            #expect(try host.count("lfs_file WHERE status = 'remote'") == 1_000)
        }
    }
}
