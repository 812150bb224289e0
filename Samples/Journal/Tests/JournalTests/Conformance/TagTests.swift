import Foundation
import JournalStorage
import Testing

@Suite("Tags", .timeLimit(.minutes(10)))
struct TagTests {
    @Test("A new journal has no tags", arguments: Implementation.allCases)
    func missing(_ implementation: Implementation) async throws {
        try await withJournal(implementation) { subject in
            let tags = try await subject.journal.loadTags()
            #expect(tags == [])
        }
    }

    @Test("Tags are loaded as they were saved, in their order", arguments: Implementation.allCases)
    func saved(_ implementation: Implementation) async throws {
        try await withJournal(implementation) { subject in
            let tags = [Tag(name: "Work", color: "#112233"), Tag(name: "A walk"), Tag(name: "")]
            try await subject.journal.saveTags(tags)
            #expect(try await subject.journal.loadTags() == tags)
            let reopened = try await subject.reopened()
            #expect(try await reopened.journal.loadTags() == tags)
            try await reopened.close()
        }
    }

    @Test("Saved tags replace all earlier ones", arguments: Implementation.allCases)
    func replaced(_ implementation: Implementation) async throws {
        try await withJournal(implementation) { subject in
            let (first, second) = (Tag(name: "First"), Tag(name: "Second"))
            try await subject.journal.saveTags([first, second])
            try await subject.journal.saveTags([second, first])
            #expect(try await subject.journal.loadTags() == [second, first])
            try await subject.journal.saveTags([second])
            #expect(try await subject.journal.loadTags() == [second])
            try await subject.journal.saveTags([])
            #expect(try await subject.journal.loadTags() == [])
        }
    }

    @Test("A duplicate tag is refused, and the earlier tags stay", arguments: Implementation.allCases)
    func twice(_ implementation: Implementation) async throws {
        try await withJournal(implementation) { subject in
            let tag = Tag(name: "Work")
            try await subject.journal.saveTags([tag])
            await #expect(throws: FileStorageError.self) { try await subject.journal.saveTags([tag, tag]) }
            #expect(try await subject.journal.loadTags() == [tag])
        }
    }

    @Test("Damaged tags are an error that names them", arguments: Implementation.allCases)
    func corrupt(_ implementation: Implementation) async throws {
        try await withJournal(implementation) { subject in
            try await subject.corruptTags()
            let error = await #expect(throws: FileStorageError.self) { try await subject.journal.loadTags() }
            guard case .decodingFailed(let name, let reason) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(name.contains("tag") && !reason.description.isEmpty)
        }
    }

    @Test("A record keeps a tag that is no longer listed", arguments: Implementation.allCases)
    func unlisted(_ implementation: Implementation) async throws {
        try await withJournal(implementation) { subject in
            let (kept, gone) = (Tag(name: "Kept"), Tag(name: "Gone"))
            try await subject.journal.saveTags([kept, gone])
            let record = try record("2026-03-01T10:00:00Z", tags: [gone.id, kept.id])
            try await subject.journal.saveRecord(record)
            try await subject.journal.saveTags([kept])
            #expect(try await subject.journal.loadAllRecords() == [record])
        }
    }
}
