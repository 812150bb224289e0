import Foundation
import JournalStorage
import Testing

@Suite("The layout of a folder", .timeLimit(.minutes(10)))
struct FolderLayoutTests {
    private func files(_ subject: Subject) throws -> [String] {
        try FileManager.default.subpathsOfDirectory(atPath: subject.path().path).filter {
            var isFolder: ObjCBool = false
            return FileManager.default.fileExists(atPath: subject.path($0).path, isDirectory: &isFolder)
                && !isFolder.boolValue
        }.sorted()
    }

    @Test("The folder is created by the first write")
    func nothing() async throws {
        try await withJournal(.folder) { subject in
            _ = try await subject.journal.loadAllRecords()
            _ = try await subject.journal.loadTags()
            #expect(!FileManager.default.fileExists(atPath: subject.path().path))
            try await subject.journal.saveTags([])
            #expect(FileManager.default.fileExists(atPath: subject.path("tags.json").path))
        }
    }

    @Test("Records and pictures are stored in the month of their start in UTC")
    func layout() async throws {
        try await withJournal(.folder) { subject in
            // In Tokyo, it is already April.
            var record = try record("2026-03-31T20:00:00Z")
            record.timeZone = "Asia/Tokyo"
            try await subject.journal.saveRecord(record)
            try await subject.journal.saveImage(bytes(1), for: record, filename: record.image(0))
            #expect(
                try files(subject) == ["", ".json", "_0.jpg"].dropFirst().map { "records/2026/03/\(record.name)\($0)" })
            record.start = try instant("0999-12-31T23:59:59Z")
            try await subject.journal.updateRecord(record)
            let url = subject.journal.imageURL(filename: record.image(0), for: record)
            #expect(try Data(contentsOf: url) == bytes(1))
            #expect(
                try files(subject).allSatisfy { $0.hasPrefix("records/0999/12/") || $0.hasPrefix("records/1000/01/") })
            try await subject.journal.deleteRecord(record)
            #expect(try files(subject) == [])
        }
    }

    @Test("The file of a record is readable JSON")
    func json() async throws {
        try await withJournal(.folder) { subject in
            let id = try #require(UUID(uuidString: "0D9B8C1E-6A57-4E0C-9C9A-6C1B7C1F0A11"))
            let tag = try #require(UUID(uuidString: "11111111-2222-4333-8444-555555555555"))
            var record = try record(
                "2026-03-29T01:30:00Z", end: "2026-03-29T02:00:00Z", id: id, comment: "A \"walk\"", tags: [tag])
            record.timeZone = "Europe/Berlin"
            try await subject.journal.saveRecord(record)
            let text = try String(contentsOf: subject.recordFile(record), encoding: .utf8)
            #expect(
                text == """
                    {
                      "comment" : "A \\"walk\\"",
                      "end" : "2026-03-29T02:00:00.000Z",
                      "id" : "0d9b8c1e-6a57-4e0c-9c9a-6c1b7c1f0a11",
                      "images" : [

                      ],
                      "start" : "2026-03-29T01:30:00.000Z",
                      "tags" : [
                        "11111111-2222-4333-8444-555555555555"
                      ],
                      "timeZone" : "Europe/Berlin"
                    }

                    """)
        }
    }

    @Test("A record that was written by hand is loaded")
    func byHand() async throws {
        try await withJournal(.folder) { subject in
            let record = TimeRecord(start: try instant("2026-03-29T01:30:00Z"))
            try FileManager.default.createDirectory(
                at: subject.recordFile(record).deletingLastPathComponent(), withIntermediateDirectories: true)
            let text = "{\"id\": \"\(record.id)\", \"start\": \"2026-03-29T03:30:00+02:00\", \"mood\": 7}"
            try Data(text.utf8).write(to: subject.recordFile(record))
            let read = try await subject.journal.loadRecord(record.id)
            #expect(read.start == record.start && read.comment == "" && read.isRunning)
        }
    }

    @Test("Foreign files stay untouched, and links are not followed")
    func foreign() async throws {
        try await withJournal(.folder) { subject in
            let record = try record("2026-03-01T10:00:00Z")
            try await subject.journal.saveRecord(record)
            let month = subject.recordFile(record).deletingLastPathComponent()
            try Data("mine".utf8).write(to: month.appending(path: "notes.json"))
            try Data("mine".utf8).write(to: subject.path("README"))
            let outside = subject.base.appending(path: "outside")
            try FileManager.default.createDirectory(at: outside, withIntermediateDirectories: true)
            let linked = TimeRecord(start: record.start)
            try FileManager.default.createSymbolicLink(
                at: subject.recordFile(linked), withDestinationURL: subject.recordFile(record))
            try FileManager.default.createSymbolicLink(at: subject.path("records/2027"), withDestinationURL: outside)
            await #expect(throws: FileStorageError.self) {
                try await subject.journal.saveRecord(TimeRecord(start: try instant("2027-03-01T10:00:00Z")))
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: outside.path) == [])
            try FileManager.default.removeItem(at: subject.path("records/2027"))
            #expect(try await subject.journal.loadAllRecords() == [record])
            #expect(try await subject.journal.damagedRecords().map(\.name) == ["records/2026/03/\(linked.name).json"])
        }
    }

    @Test("A picture without a record and a missing picture are reported")
    func findings() async throws {
        try await withJournal(.folder) { subject in
            let record = try record("2026-03-01T10:00:00Z")
            try await subject.journal.saveRecord(record)
            for index in 0..<2 {
                try await subject.journal.saveImage(bytes(1), for: record, filename: record.image(index))
            }
            let month = subject.recordFile(record).deletingLastPathComponent()
            try FileManager.default.moveItem(
                at: month.appending(path: record.image(0)), to: month.appending(path: record.image(7)))
            let found = try await subject.journal.damagedRecords()
            #expect(found.map(\.name) == ["records/2026/03/\(record.image(7))", record.image(0)])
        }
    }

    @Test("Leftovers of a killed process are removed, and current writes are kept")
    func leftovers() async throws {
        try await withJournal(.folder) { subject in
            let record = try record("2026-03-01T10:00:00Z")
            try await subject.journal.saveRecord(record)
            // A picture that its record does not list, and the note about it.
            let month = subject.recordFile(record).deletingLastPathComponent()
            try bytes(1).write(to: month.appending(path: record.image(3)))
            for name in ["\(record.name)~1", "picture~2"] {
                try bytes(9).write(to: subject.path(".temporary", name))
            }
            let chunks = GatedChunks(bytes(10_000))
            async let saving: Void = subject.journal.saveImage(from: chunks, for: record, filename: record.image(0))
            await chunks.waitForReader()
            let next = LocalFileStorageService(folder: subject.path())
            #expect(try await next.loadAllRecords() == [record])
            #expect(try FileManager.default.contentsOfDirectory(atPath: subject.path(".temporary").path).count == 1)
            #expect(!FileManager.default.fileExists(atPath: month.appending(path: record.image(3)).path))
            chunks.open()
            try await saving
            #expect(try await next.loadImage(filename: record.image(0), for: record) == bytes(10_000))
        }
    }

    @Test("The default folder is Documents/Journal")
    func defaultFolder() {
        let home = FileManager.default.homeDirectoryForCurrentUser.path
        #expect(LocalFileStorageService().folder.path == "\(home)/Documents/Journal")
    }
}
