import Foundation
import JournalStorage
import Testing

@Suite("The cache of a folder", .timeLimit(.minutes(10)))
struct CacheTests {
    /// Runs the body with one record and one tag that were loaded, and whose files were then changed outside of the
    /// journal.
    private func withChangedFiles(_ body: (Subject, LocalFileStorageService, TimeRecord) async throws -> Void)
        async throws
    {
        try await withJournal(.folder) { subject in
            let journal = try #require(subject.local)
            let record = try record("2026-03-01T10:00:00Z", comment: "before")
            try await journal.saveRecord(record)
            try await journal.saveTags([Tag(name: "before")])
            _ = try await (journal.loadAllRecords(), journal.loadTags())
            for file in [subject.recordFile(record), subject.path("tags.json")] {
                let text = try String(contentsOf: file, encoding: .utf8)
                try Data(text.replacing("before", with: "after").utf8).write(to: file)
            }
            try await body(subject, journal, record)
        }
    }

    private func comments(_ journal: LocalFileStorageService) async throws -> [String] {
        let all = try await journal.loadAllRecords() + journal.loadRunningRecords()
        return try await (all + journal.loadRecords(from: .distantPast, to: .distantFuture)).map(\.comment)
            + [journal.loadRecord(all[0].id).comment] + journal.loadTags().map(\.name)
    }

    @Test("The first load fills the cache, which answers every query")
    func used() async throws {
        try await withChangedFiles { _, journal, _ in
            let found = try await comments(journal)
            #expect(found == Array(repeating: "before", count: 5))
        }
    }

    @Test("Invalidating the cache drops it")
    func invalidated() async throws {
        try await withChangedFiles { _, journal, _ in
            await journal.invalidateCache()
            let found = try await comments(journal)
            #expect(found == Array(repeating: "after", count: 5))
        }
    }

    @Test("Every change drops the cache", arguments: Change.allCases)
    func mutated(_ change: Change) async throws {
        try await withChangedFiles { subject, journal, record in
            if change == .deleteImage {
                // A picture that existed before the cache was filled. Another instance wrote it.
                let other = LocalFileStorageService(folder: journal.folder)
                try await other.saveImage(bytes(1), for: record, filename: record.image(0))
            }
            try await change.perform(on: journal, record)
            let stored = try await journal.loadAllRecords()
            #expect(stored.first { $0.id == record.id }?.comment == change.comment)
        }
    }

    @Test("A failed change drops the cache")
    func failed() async throws {
        try await withChangedFiles { _, journal, record in
            await #expect(throws: FileStorageError.self) {
                try await journal.deleteImage(filename: record.image(0), for: record)
            }
            let stored = try await journal.loadAllRecords()
            #expect(stored[0].comment == "after")
        }
    }

    enum Change: CaseIterable {
        case saveTags, saveRecord, updateRecord, deleteRecord, saveImage, streamImage, addImage, deleteImage

        /// The expected comment of the record afterwards.
        var comment: String? {
            switch self {
            case .updateRecord: "before"
            case .deleteRecord: nil
            default: "after"
            }
        }

        func perform(on journal: LocalFileStorageService, _ record: TimeRecord) async throws {
            let name = record.image(0)
            switch self {
            case .saveTags: try await journal.saveTags([])
            case .saveRecord: try await journal.saveRecord(TimeRecord(start: record.start))
            case .updateRecord: try await journal.updateRecord(record)
            case .deleteRecord: try await journal.deleteRecord(record)
            case .saveImage: try await journal.saveImage(bytes(1), for: record, filename: name)
            case .streamImage: try await journal.saveImage(from: chunks(bytes(1)), for: record, filename: name)
            case .addImage: _ = try await journal.addImage(from: chunks(bytes(1)), for: record, fileExtension: "jpg")
            case .deleteImage: try await journal.deleteImage(filename: name, for: record)
            }
        }
    }
}
