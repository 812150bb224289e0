import Foundation
import GRDB
import JournalStorage
import LFS
import LFSStorage
import Logging
import Testing

@testable import journal

@Suite("A folder with a working database", .timeLimit(.minutes(10)))
struct FolderMirrorTests {
    /// Runs a body with a folder, a database and a mirror between them.
    private func withMirror(
        _ body: (LocalFileStorageService, DatabaseStorageService, FolderMirror) async throws -> Void
    ) async throws {
        try await withJournal(.database) { subject in
            try await withFolder { folder in
                let files = LocalFileStorageService(folder: folder.appending(path: "journal"))
                let database = try #require(subject.database)
                try await body(files, database, FolderMirror(files, database: database))
            }
        }
    }

    /// Runs a body with a folder and a database that have a record with a picture. The folder was given both.
    private func withGiven(
        _ body: (LocalFileStorageService, DatabaseStorageService, TimeRecord) async throws -> Void
    ) async throws {
        try await withMirror { files, database, mirror in
            _ = try await mirror.take()
            let record = try record(0)
            try await database.saveRecord(record)
            try await database.saveImage(bytes(900), for: record, filename: record.image(0))
            try await mirror.give()
            try await body(files, database, try await database.loadRecord(record.id))
        }
    }

    /// Takes the changes of the folder and gives those of the database, as the next process does.
    @discardableResult
    private func restart(
        _ files: LocalFileStorageService, database: DatabaseStorageService
    ) async throws -> JournalCopy.Report {
        let mirror = FolderMirror(files, database: database)
        let report = try await mirror.take()
        try await mirror.give()
        return report
    }

    /// Returns the bytes of all records and pictures in the folder by their paths.
    private func contents(_ files: LocalFileStorageService) throws -> [String: Data] {
        let folder = files.folder.appending(path: "records")
        let names = try #require(FileManager.default.enumerator(atPath: folder.path)?.allObjects as? [String])
        return names.reduce(into: [:]) { contents, name in
            contents[name] = try? Data(contentsOf: folder.appending(path: name))
        }
    }

    private func damage(_ record: TimeRecord, in database: DatabaseStorageService) async throws {
        let id = record.name
        try await database.database.write { db in
            try db.execute(sql: "UPDATE record SET startedAt = 'x', endedAt = NULL WHERE id = ?", arguments: [id])
        }
    }

    private func record(_ number: Int) throws -> TimeRecord {
        TimeRecord(
            start: try instant("2026-03-01T10:00:00Z").addingTimeInterval(Double(number) * 86_400 * 20),
            end: try instant("2027-03-01T10:00:00Z"), timeZone: .gmt, comment: "Record \(number)")
    }

    /// Expects that the folder and the database have the same contents.
    private func expectEqual(_ files: LocalFileStorageService, database: DatabaseStorageService) async throws {
        await files.invalidateCache()
        let records = try await database.loadAllRecords()
        #expect(try await files.loadAllRecords() == records)
        #expect(try await files.loadTags() == (try await database.loadTags()))
        for record in records {
            for name in record.images {
                let bytes = try await database.loadImage(filename: name, for: record)
                #expect(try await files.loadImage(filename: name, for: record) == bytes)
            }
        }
        #expect(try await files.damagedRecords() == [])
    }

    @Test("The database takes the contents of the folder, also after changes by hand")
    func taken() async throws {
        try await withMirror { files, database, mirror in
            let records = try (0..<4).map(record)
            try await files.saveTags([Tag(name: "Walk")])
            for record in records { try await files.saveRecord(record) }
            for name in [records[0].image(0), records[0].image(1)] {
                try await files.saveImage(bytes(900, seed: 1), for: records[0], filename: name)
            }
            let report = try await mirror.take()
            #expect(report.records == 4 && report.pictures == 2 && report.tags == 1 && report.damaged == [])
            try await expectEqual(files, database: database)
            // Nothing has changed, so nothing is copied.
            let again = try await mirror.take()
            #expect(again.records == 0 && again.pictures == 0)
            var changed = try await files.loadRecord(records[1].id)
            changed.comment = "by hand"
            try await files.updateRecord(changed)
            try await files.deleteRecord(records[2])
            try await files.deleteImage(filename: records[0].image(0), for: records[0])
            try await files.saveImage(bytes(70, seed: 2), for: records[3], filename: records[3].image(5))
            try await files.saveTags([])
            let third = try await mirror.take()
            #expect(third.records == 3 && third.pictures == 1)
            try await expectEqual(files, database: database)
        }
    }

    @Test("The folder gets the changes of the database")
    func given() async throws {
        try await withMirror { files, database, mirror in
            _ = try await mirror.take()
            var records = try (0..<3).map(record)
            try await database.saveTags([Tag(name: "Walk"), Tag(name: "Work")])
            for record in records { try await database.saveRecord(record) }
            for index in 0..<3 {
                try await database.saveImage(
                    bytes(800 + index, seed: UInt8(index)), for: records[0], filename: records[0].image(index))
            }
            try await mirror.give()
            try await expectEqual(files, database: database)
            // A replaced, a deleted and a moved picture, another month, and a deleted record.
            try await database.saveImage(bytes(5, seed: 9), for: records[0], filename: records[0].image(0))
            try await database.deleteImage(filename: records[0].image(1), for: records[0])
            records[0] = try await database.loadRecord(records[0].id)
            records[0].images.reverse()
            records[0].start = try instant("2025-01-01T10:00:00Z")
            try await database.updateRecord(records[0])
            try await database.deleteRecord(records[1])
            try await database.saveTags([])
            try await mirror.give()
            try await expectEqual(files, database: database)
            #expect(try await files.loadAllRecords().count == 2)
        }
    }

    @Test("A record and pictures that were saved before a crash get into the folder")
    func unwritten() async throws {
        try await withGiven { files, database, given in
            let new = try record(1)
            try await database.saveRecord(new)
            for record in [given, new] {
                try await database.saveImage(bytes(70, seed: 2), for: record, filename: record.image(5))
            }
            try await restart(files, database: database)
            #expect(try await database.loadAllRecords().map(\.images.count) == [2, 1])
            try await expectEqual(files, database: database)
        }
    }

    @Test("A text that was changed before a crash gets into the folder")
    func unwrittenText() async throws {
        try await withGiven { files, database, given in
            try await database.updateRecord(given.id) { $0.comment = "Changed" }
            try await restart(files, database: database)
            #expect(try await database.loadRecord(given.id).comment == "Changed")
            try await expectEqual(files, database: database)
        }
    }

    @Test("A tag that was added before a crash gets into the folder")
    func unwrittenTag() async throws {
        try await withGiven { files, database, _ in
            let tags = [Tag(name: "Walk"), Tag(name: "Work"), Tag(name: "Read")]
            try await database.saveTags([tags[0]])
            try await restart(files, database: database)
            try await database.saveTags([tags[0], tags[1]])
            try await restart(files, database: database)
            #expect(try await database.loadTags() == [tags[0], tags[1]])
            try await expectEqual(files, database: database)
            // Another tag in the folder at the same time.
            try await database.saveTags([tags[0]])
            try await database.addTag(tags[2])
            try await files.saveTags([tags[1], tags[0]])
            try await restart(files, database: database)
            #expect(try await database.loadTags() == [tags[1], tags[0], tags[2]])
            try await expectEqual(files, database: database)
        }
    }

    @Test("A record and a picture that were deleted before a crash leave the folder")
    func unwrittenDeletion() async throws {
        try await withGiven { files, database, given in
            try await database.deleteImage(filename: given.image(0), for: given)
            try await restart(files, database: database)
            #expect(try await database.loadRecord(given.id).images == [])
            try await expectEqual(files, database: database)
            try await database.deleteRecord(given)
            try await restart(files, database: database)
            #expect(try await database.loadAllRecords() == [])
            try await expectEqual(files, database: database)
        }
    }

    @Test("A crash after a text was written into the folder does not undo the next text")
    func written() async throws {
        try await withGiven { files, database, given in
            let mirror = FolderMirror(files, database: database)
            _ = try await mirror.take()
            try await database.database.write { db in
                try db.execute(
                    sql: """
                        CREATE TRIGGER crash BEFORE UPDATE ON folder_given
                        WHEN CAST(NEW.content AS TEXT) NOT LIKE '%"pending"%'
                        BEGIN SELECT RAISE(ABORT, 'the process has ended'); END
                        """)
            }
            try await database.updateRecord(given.id) { $0.comment = "Written" }
            await #expect(throws: FileStorageError.self) { try await mirror.give() }
            #expect(try await files.loadRecord(given.id).comment == "Written")
            try await database.database.write { db in try db.execute(sql: "DROP TRIGGER crash") }
            try await database.updateRecord(given.id) { $0.comment = "Next" }
            try await restart(files, database: database)
            #expect(try await database.loadRecord(given.id).comment == "Next")
            try await expectEqual(files, database: database)
        }
    }

    @Test("A picture that another device has not uploaded stays in the database")
    func elsewhere() async throws {
        try await withJournal(.database) { subject in
            try await withFolder { folder in
                let files = LocalFileStorageService(folder: folder.appending(path: "journal"))
                let database = try #require(subject.database)
                let mirror = FolderMirror(files, database: database)
                _ = try await mirror.take()
                let record = try record(0)
                try await database.saveRecord(record)
                for index in 0..<2 {
                    try await database.saveImage(
                        bytes(900, seed: UInt8(index)), for: record, filename: record.image(index))
                }
                try await subject.loseImage(record.image(0), of: record)
                await #expect(throws: FileStorageError.self) { try await mirror.give() }
                // The other picture does not wait for the missing one.
                #expect(try await files.loadAllRecords().map(\.images) == [[record.image(1)]])
                _ = try await FolderMirror(files, database: database).take()
                #expect(try await database.loadRecord(record.id).images == [record.image(0), record.image(1)])
            }
        }
    }

    @Test("A record that was deleted by hand is deleted from the database")
    func deletedByHand() async throws {
        try await withGiven { files, database, given in
            try await files.deleteRecord(given)
            try await restart(files, database: database)
            #expect(try await database.loadAllRecords() == [])
            try await expectEqual(files, database: database)
        }
    }

    @Test("A record that was deleted by hand stays if the database has a change of it")
    func deletedAndChanged() async throws {
        try await withGiven { files, database, given in
            try await files.deleteRecord(given)
            try await database.updateRecord(given.id) { $0.comment = "Changed" }
            try await restart(files, database: database)
            #expect(try await database.loadAllRecords().map(\.images) == [[given.image(0)]])
            try await expectEqual(files, database: database)
        }
    }

    @Test("Changes of both sides get the text of the folder and the pictures of both")
    func bothChanged() async throws {
        try await withGiven { files, database, given in
            var changed = given
            changed.comment = "By hand"
            try await files.updateRecord(changed)
            try await files.saveImage(bytes(80, seed: 3), for: given, filename: given.image(3))
            try await database.updateRecord(given.id) { $0.comment = "In the database" }
            try await database.saveImage(bytes(90, seed: 4), for: given, filename: given.image(4))
            try await restart(files, database: database)
            let merged = try await database.loadRecord(given.id)
            #expect(merged.comment == "By hand")
            #expect(Set(merged.images) == [given.image(0), given.image(3), given.image(4)])
            try await expectEqual(files, database: database)
        }
    }

    @Test("A damaged record stays in the folder and in the database")
    func damaged() async throws {
        try await withMirror { files, database, mirror in
            let (good, bad) = (try record(0), try record(1))
            for record in [good, bad] { try await files.saveRecord(record) }
            _ = try await mirror.take()
            let file = files.folder.appending(path: "records/2026/03/\(bad.name).json")
            try Data("{".utf8).write(to: file)
            let report = try await mirror.take()
            #expect(report.damaged.count == 1 && report.records == 0)
            #expect(try await database.loadAllRecords().count == 2)
            try await mirror.give()
            #expect(try Data(contentsOf: file) == Data("{".utf8))
        }
    }

    @Test("A record that is damaged in the database keeps its files in the folder")
    func damagedRow() async throws {
        try await withGiven { files, database, given in
            let mirror = FolderMirror(files, database: database)
            _ = try await mirror.take()
            let before = try contents(files)
            #expect(before.count == 2)
            try await damage(given, in: database)
            try await mirror.give()
            #expect(try contents(files) == before)
        }
    }

    @Test("A record that is damaged in the database is reported, and others are taken")
    func damagedRowAtStart() async throws {
        try await withGiven { files, database, given in
            try await damage(given, in: database)
            let other = try record(1)
            try await files.saveRecord(other)
            let before = try contents(files)
            let report = try await restart(files, database: database)
            #expect(report.records == 1 && report.damaged.count == 1)
            #expect(report.damaged.allSatisfy { $0.name.contains(given.name) })
            #expect(try await database.loadAllRecords() == [other])
            #expect(try contents(files) == before)
        }
    }

    @Test("A change that cannot be written is written by the next call")
    func blocked() async throws {
        try await withMirror { files, database, mirror in
            _ = try await mirror.take()
            try FileManager.default.createDirectory(at: files.folder, withIntermediateDirectories: true)
            let blocker = files.folder.appending(path: "records")
            try Data().write(to: blocker)
            for number in 0..<2 { try await database.saveRecord(try record(number)) }
            await #expect(throws: FileStorageError.self) { try await mirror.give() }
            try FileManager.default.removeItem(at: blocker)
            try await mirror.give()
            try await expectEqual(files, database: database)
            #expect(try await files.loadAllRecords().count == 2)
        }
    }

    @Test("The service writes each change into the folder while it runs")
    func service() async throws {
        try await withMirror { files, database, mirror in
            _ = try await mirror.take()
            let service = FolderService(
                mirror: mirror, database: database.database, logger: Logger(label: "test"),
                retryDelay: .milliseconds(1))
            let running = Task { try await service.run() }
            try await database.saveRecord(try record(0))
            var count = 0
            while count == 0 {
                try Task.checkCancellation()
                await Task.yield()
                await files.invalidateCache()
                count = try await files.loadAllRecords().count
            }
            running.cancel()
            try await running.value
            try await expectEqual(files, database: database)
        }
    }

    /// Serves a journal folder with a record until the body ends. Returns the journal.
    private func serve(
        in folder: URL, _ body: (LocalFileStorageService, _ address: String) async throws -> Void
    ) async throws -> LocalFileStorageService {
        let files = LocalFileStorageService(folder: folder.appending(path: "journal"))
        try await files.saveRecord(try record(0))
        let arguments = [
            "serve", "--folder", "journal", "--storage", "dir:remote", "--secrets", "state", "--listen",
            "127.0.0.1:0",
        ]
        let child = try ChildProcess("journal", arguments: arguments, in: folder)
        defer { if child.process.isRunning { child.process.terminate() } }
        try await body(files, try await child.address())
        #expect(child.process.isRunning)
        child.process.terminate()
        let ended = try child.wait()
        #expect(ended.status == 0, "\(ended)")
        return files
    }

    @Test("A served folder has a working database with its records")
    func served() async throws {
        try await withFolder { folder in
            let files = try await serve(in: folder) { _, address in #expect(address.hasPrefix("http://127.0.0.1:")) }
            let database = try await DatabaseStorageService.open(
                at: files.folder.appending(path: ".journal/journal.sqlite"),
                options: LFSOptions(storage: InMemoryStorage()))
            #expect(try await database.loadAllRecords() == (try await files.loadAllRecords()))
            try await database.close()
        }
    }

    @Test("A served folder gets a new record while the server runs")
    func servedChange() async throws {
        try await withFolder { folder in
            _ = try await serve(in: folder) { files, address in
                let session = try await BrowserSession(with: address)
                #expect(try await session.post("/records", form: "comment=A+walk").status == 200)
                var comments: Set<String> = []
                while comments.count < 2 {
                    try Task.checkCancellation()
                    await Task.yield()
                    await files.invalidateCache()
                    comments = Set(try await files.loadAllRecords().map(\.comment))
                }
                #expect(comments == ["Record 0", "A walk"])
            }
        }
    }

    @Test("A served folder offers no removal")
    func noRemoval() async throws {
        try await withFolder { folder in
            _ = try await serve(in: folder) { _, address in
                let session = try await BrowserSession(with: address)
                let page = try await session.get("/settings")
                #expect(page.status == 200 && !page.text.contains("Full reset</button>"))
                let form = "what=everything&lost=0&sure=yes"
                #expect(try await session.post("/settings/remove", form: form).status == 404)
            }
        }
    }
}
