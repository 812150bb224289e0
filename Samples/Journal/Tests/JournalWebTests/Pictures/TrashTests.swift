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

    @Test("A picture is deleted finally after thirty days, and not before")
    func expiry() async throws {
        try await withWeb { subject in
            let web = try await subject.visiting()
            _ = try await delete(web, of: try await web.record())
            let trash = Trash(journal: web.journal, logger: Logger(label: "test"))
            let now = Date()
            await trash.empty(at: now + 29 * 86_400)
            #expect(try await web.journal.loadDeletedImages(limit: 10).count == 1)
            await trash.empty(at: now + 31 * 86_400)
            #expect(try await web.journal.loadDeletedImages(limit: 10).isEmpty)
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
