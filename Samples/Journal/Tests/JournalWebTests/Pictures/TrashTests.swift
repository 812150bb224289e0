import Foundation
import GRDB
import JournalStorage
import LFS
import LFSStorage
import Logging
import Testing

@testable import JournalWeb

@Suite("Recently deleted pictures", .timeLimit(.minutes(10)))
struct TrashTests {
    /// Uploads two pictures, deletes the first one with its form, and returns its file.
    private func delete(_ web: WebSubject, of record: TimeRecord) async throws -> FileID {
        for seed in [UInt8(1), 2] {
            #expect(try await web.upload(WebSubject.picture(seed: seed), to: record).status == 201)
        }
        try await web.journal.lfs.waitForUploads()
        let name = try #require(try await web.journal.loadRecord(record.id).images.first)
        let file = try await web.journal.imageFile(filename: name, for: record).id
        let reply = try await web.post(
            "\(web.path(record))/images/\(name)/delete", fields: [("file", "\(file)")])
        #expect(reply.header("Location") == "\(web.path(record))?deleted=\(file)")
        return file
    }

    @Test("A deleted picture leaves its record, and its form restores it to its place")
    func undo() async throws {
        let storage = InMemoryStorage()
        try await withWeb(storage: storage) { subject in
            let web = try await subject.visiting()
            let record = try await web.record()
            let file = try await delete(web, of: record)
            #expect(try await web.journal.loadRecord(record.id).images.count == 1)
            let page = try await web.get("\(web.path(record))?deleted=\(file)")
            #expect(page.text.contains("Recently deleted") && page.text.contains("Undo"))
            #expect(storage.keys.count == 2)
            #expect(try await web.post("/trash/restore", fields: [("file", "\(file)")]).status == 303)
            let images = try await web.journal.loadRecord(record.id).images
            #expect(images.count == 2)
            #expect(try await web.journal.imageFile(filename: images[0], for: record).id == file)
            #expect(try await !web.get("\(web.path(record))?deleted=\(file)").text.contains("Undo"))
        }
    }

    @Test("The page Recently deleted deletes a picture finally, with its object")
    func finally() async throws {
        let storage = InMemoryStorage()
        try await withWeb(storage: storage) { subject in
            let web = try await subject.visiting()
            let file = try await delete(web, of: try await web.record())
            let page = try await web.get("/trash")
            #expect(page.text.contains("/files/\(file)/thumbnail") && page.text.contains("30 days left"))
            #expect(try await web.post("/trash/delete", fields: [("file", "\(file)")]).status == 303)
            _ = try await web.journal.lfs.waitForDeletions()
            #expect(storage.keys.count == 1)
            #expect(try await web.get("/trash").text.contains("No picture was deleted recently."))
            #expect(try await web.post("/trash/restore", fields: [("file", "\(file)")]).status == 404)
        }
    }

    @Test("All deleted pictures are deleted finally after a confirmation")
    func all() async throws {
        try await withWeb { subject in
            let web = try await subject.visiting()
            _ = try await delete(web, of: try await web.record())
            #expect(try await web.post("/trash/empty").status == 400)
            #expect(try await web.journal.loadDeletedImages(limit: 10).count == 1)
            #expect(try await web.post("/trash/empty", fields: [("sure", "yes")]).status == 303)
            #expect(try await web.journal.loadDeletedImages(limit: 10).isEmpty)
        }
    }

    private static let start = Date(timeIntervalSince1970: 1_770_000_000)

    private static func days(_ range: ClosedRange<Int>) -> [Date] { range.map { start + Double($0) * 86_400 } }

    /// Deletes the picture of a journal without a server, and looks after the trash at some times.
    ///
    /// - Returns: The number of pictures in the trash after each look.
    private func left(deletedAt date: Date, looks: [Date]) async throws -> [Int] {
        var left: [Int] = []
        try await withFolder { folder in
            let journal = try await DatabaseStorageService.open(
                at: folder.appending(path: "journal.sqlite"), options: LFSOptions(storage: InMemoryStorage()))
            let record = TimeRecord(start: Self.start, timeZone: .gmt, comment: "Walk")
            try await journal.saveRecord(record)
            let name = try await journal.addImage(
                from: .bytes(WebSubject.picture()), for: record, fileExtension: "png")
            let file = try await journal.imageFile(filename: name, for: record).id
            try await journal.trashImage(file, for: record, at: date)
            let trash = Trash(journal: journal, logger: Logger(label: "test"))
            for look in looks {
                await trash.empty(at: look)
                left.append(try await journal.loadDeletedImages(limit: 10).count)
            }
            try await journal.close()
        }
        return left
    }

    @Test("A picture is deleted finally after thirty days, and not before")
    func expiry() async throws {
        let left = try await left(deletedAt: Self.start, looks: Self.days(0...31))
        #expect(left == Array(repeating: 1, count: 31) + [0])
    }

    @Test("A look with a clock that is ten years ahead deletes no picture")
    func wrongClock() async throws {
        let (ahead, right) = (Self.start + 3_650 * 86_400, Self.start + 3_600)
        #expect(try await left(deletedAt: Self.start, looks: [ahead]) == [1])
        #expect(try await left(deletedAt: Self.start, looks: [Self.start, ahead, right]) == [1, 1, 1])
    }

    @Test("A picture with an old time of deletion is kept for thirty days of looks")
    func oldDeletion() async throws {
        let left = try await left(deletedAt: Self.start - 3_650 * 86_400, looks: Self.days(0...30))
        #expect(left == Array(repeating: 1, count: 30) + [0])
    }

    @Test("A restored picture that is deleted again is kept for thirty more days")
    func deletedAgain() async throws {
        try await withWeb { subject in
            let web = try await subject.visiting()
            let record = try await web.record()
            let file = try await delete(web, of: record)
            let trash = Trash(journal: web.journal, logger: Logger(label: "test"))
            let now = Date()
            for day in 0...29 { await trash.empty(at: now + Double(day) * 86_400) }
            try await web.journal.restoreImage(file)
            await trash.empty(at: now + 30 * 86_400)
            try await web.journal.trashImage(file, for: record, at: now)
            for day in 31...35 { await trash.empty(at: now + Double(day) * 86_400) }
            #expect(try await web.journal.loadDeletedImages(limit: 10).count == 1)
        }
    }

    @Test("A row with an invalid time of deletion is shown, and does not expire")
    func hostile() async throws {
        try await withWeb { subject in
            let web = try await subject.visiting()
            let file = try await delete(web, of: try await web.record())
            try await web.journal.database.write { db in
                try db.execute(sql: "UPDATE picture SET deletedAt = 'x' WHERE fileId = ?", arguments: ["\(file)"])
            }
            await Trash(journal: web.journal, logger: Logger(label: "test")).empty(at: .distantFuture)
            #expect(try await web.get("/trash").text.contains("without a date"))
        }
    }
}
