import Foundation
import JournalStorage
import LFS
import LFSStorage
import Testing

@Suite("Import and export", .timeLimit(.minutes(10)))
struct CopyTests {
    /// Fills a journal with content that is easily lost in a copy.
    private func fill(_ journal: some StreamingFileStorageService) async throws {
        let tags = [Tag(name: "Ä / \"b\"", color: "#123456"), Tag(name: "🌱"), Tag(name: "")]
        try await journal.saveTags(tags)
        for number in 0..<30 {
            var record = TimeRecord(
                start: try instant("2025-10-26T00:59:59Z").addingTimeInterval(Double(number) * 1_234_567.891),
                timeZone: try #require(TimeZone(identifier: "Asia/Kathmandu")),
                comment: "Line \(number)\n\t\"quoted\" / e\u{301} \u{7f}", tags: [tags[2].id, UUID()])
            record.end = number.isMultiple(of: 7) ? nil : record.start.addingTimeInterval(Double(number) * 0.001)
            try await journal.saveRecord(record)
            for index in [5, 0, 300] where number.isMultiple(of: 3) {
                try await journal.saveImage(
                    bytes(number * 9_001, seed: UInt8(number)), for: record,
                    filename: record.image(index, fileExtension: "png"))
            }
        }
    }

    /// Returns the contents of all files of a folder whose names do not start with a dot.
    static func files(_ folder: URL) throws -> [String: Data] {
        var files: [String: Data] = [:]
        for path in try FileManager.default.subpathsOfDirectory(atPath: folder.path) where !path.hasPrefix(".") {
            let url = folder.appending(path: path)
            let isFile = try url.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile
            if isFile == true { files[path] = try Data(contentsOf: url) }
        }
        return files
    }

    @Test("A folder is unchanged after a copy to a database and back")
    func roundTrip() async throws {
        try await withJournal(.database) { database in
            try await withFolder { folder in
                let first = LocalFileStorageService(folder: folder.appending(path: "first"))
                let second = LocalFileStorageService(folder: folder.appending(path: "second"))
                try await fill(first)
                let taken = try await JournalCopy(from: first, to: database.journal).run()
                #expect(taken.records == 30 && taken.pictures == 30 && taken.tags == 3 && taken.damaged == [])
                let given = try await JournalCopy(from: database.journal, to: second).run()
                #expect(given == taken)
                let (before, after) = (try Self.files(first.folder), try Self.files(second.folder))
                #expect(before.count == 61 && before == after)
            }
        }
    }

    @Test("A journal that is copied twice exists once, in the order of the source", arguments: Implementation.allCases)
    func twice(_ implementation: Implementation) async throws {
        try await withJournal(implementation) { target in
            try await withFolder { folder in
                let source = LocalFileStorageService(folder: folder.appending(path: "source"))
                try await fill(source)
                let copy = JournalCopy(from: source, to: target.journal)
                _ = try await copy.run()
                var record = try #require(try await source.loadAllRecords().first { $0.images.count == 3 })
                let new = record.image(301)
                try await source.saveImage(bytes(7), for: record, filename: new)
                record.images = [new] + record.images.reversed()
                record.comment = "changed"
                try await source.updateRecord(record)
                _ = try await copy.run()
                #expect(try await target.journal.loadAllRecords() == source.loadAllRecords())
                #expect(try await target.journal.loadTags() == source.loadTags())
            }
        }
    }

    @Test("A copy keeps the other contents of the target", arguments: Implementation.allCases)
    func besides(_ implementation: Implementation) async throws {
        try await withJournal(implementation) { target in
            try await withFolder { folder in
                let source = LocalFileStorageService(folder: folder.appending(path: "source"))
                try await fill(source)
                let (tag, record) = (Tag(name: "Mine"), try record("2020-01-01T00:00:00Z"))
                try await target.journal.saveTags([tag])
                try await target.journal.saveRecord(record)
                _ = try await JournalCopy(from: source, to: target.journal).run()
                #expect(try await target.journal.loadTags() == source.loadTags() + [tag])
                #expect(try await target.journal.loadRecord(record.id) == record)
            }
        }
    }

    @Test("A damaged record and a missing picture are reported, and the rest is copied")
    func damaged() async throws {
        try await withJournal(.folder) { source in
            try await withJournal(.database) { target in
                let records = try (1...3).map { try record("2026-03-0\($0)T10:00:00Z") }
                for record in records {
                    try await source.journal.saveRecord(record)
                    for index in 0..<2 {
                        try await source.journal.saveImage(bytes(10), for: record, filename: record.image(index))
                    }
                }
                try await source.corrupt(records[0])
                try await source.loseImage(records[1].image(0), of: records[1])
                let report = try await JournalCopy(from: source.journal, to: target.journal).run()
                #expect(report.records == 2 && report.pictures == 3 && report.damaged.count == 2)
                #expect(report.damaged.contains { $0.name.contains(records[0].name) })
                #expect(report.damaged.contains { $0.name == records[1].image(0) })
                #expect(try await target.journal.loadAllRecords().map(\.images.count) == [1, 2])
            }
        }
    }
}
