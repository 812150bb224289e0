import Foundation
import GRDB
import JournalStorage
import LFS
import LFSStorage
import LFSTesting
import Testing

@Suite("Offloading of pictures", .timeLimit(.minutes(10)))
struct OffloadTests {
    @Test("A picture is uploaded in the background and can be read after its eviction")
    func offloaded() async throws {
        try await withJournal(.database) { subject in
            let database = try #require(subject.database)
            let record = try record("2026-03-01T10:00:00Z")
            try await database.saveRecord(record)
            try await database.saveImage(bytes(300_000), for: record, filename: record.image(0))
            try await database.lfs.waitForUploads()
            let file = try await database.imageFile(filename: record.image(0), for: record)
            #expect(file.status == .remote && file.contentType == "image/jpeg" && file.name == record.image(0))
            try await database.lfs.evict(file.id)
            #expect(try await database.loadImage(filename: record.image(0), for: record) == bytes(300_000))
        }
    }

    @Test("Each commit is synced to disk")
    func durable() async throws {
        try await withJournal(.database) { subject in
            let database = try #require(subject.database).database
            let level = try await database.writeWithoutTransaction { try Int.fetchOne($0, sql: "PRAGMA synchronous") }
            #expect(level == 2)
        }
    }

    @Test("Deleted and replaced pictures are deleted from the storage")
    func deleted() async throws {
        try await withJournal(.database) { subject in
            let database = try #require(subject.database)
            let record = try record("2026-03-01T10:00:00Z")
            try await database.saveRecord(record)
            for index in 0..<3 {
                try await database.saveImage(bytes(100), for: record, filename: record.image(index))
            }
            try await database.saveImage(bytes(200), for: record, filename: record.image(0))
            try await database.lfs.waitForUploads()
            _ = try await database.lfs.waitForDeletions()
            #expect(subject.storage.keys.count == 3)
            try await database.deleteImage(filename: record.image(1), for: record)
            _ = try await database.lfs.waitForDeletions()
            #expect(subject.storage.keys.count == 2)
            try await database.deleteRecord(record)
            _ = try await database.lfs.waitForDeletions()
            #expect(subject.storage.keys.isEmpty)
        }
    }

    @Test("Pictures are saved and shown while the storage does not answer")
    func away() async throws {
        try await withFolder { folder in
            let gate = GatedStorage(InMemoryStorage())
            let database = try await DatabaseStorageService.open(
                at: folder.appending(path: "journal.sqlite"), options: LFSOptions(storage: gate))
            try database.lfs.start()
            let record = try record("2026-03-01T10:00:00Z")
            try await database.saveRecord(record)
            try await database.saveImage(bytes(100), for: record, filename: record.image(0))
            await gate.waitForArrivals(1)
            #expect(try await database.loadImage(filename: record.image(0), for: record) == bytes(100))
            #expect(try await database.imageFile(filename: record.image(0), for: record).status == .local)
            gate.open()
            try await database.lfs.waitForUploads()
            #expect(try await database.imageFile(filename: record.image(0), for: record).status == .remote)
            try await database.close()
        }
    }

    @Test("A closed journal is one complete file, and a newer version is refused")
    func closed() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "journal-closed-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
        let file = folder.appending(path: "journal.sqlite")
        let options = LFSOptions(storage: InMemoryStorage())
        let journal = try await DatabaseStorageService.open(at: file, options: options)
        for day in 1...20 { try await journal.saveRecord(try record("2026-03-\(day < 10 ? "0" : "")\(day)T10:00:00Z")) }
        #expect(try await journal.loadAllRecords().count == 20)
        try await journal.close()
        try await journal.close()
        let copy = folder.appending(path: "copy.sqlite")
        try FileManager.default.copyItem(at: file, to: copy)
        let queue = try DatabaseQueue(path: copy.path)
        #expect(try await queue.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM record") } == 20)
        try await queue.write { try $0.execute(sql: "INSERT INTO grdb_migrations VALUES ('journal.v9')") }
        try queue.close()
        let error = await #expect(throws: FileStorageError.self) {
            try await DatabaseStorageService.open(at: copy, options: options)
        }
        #expect("\(try #require(error))".contains("newer version"))
    }
}
