import Foundation
import JournalStorage
import Testing

@Suite("Text", .timeLimit(.minutes(10)))
struct TextTests {
    private static let texts = [
        "", " ", "\n\t\r\n", "quotes \" ' ` and \\ slashes / //", "</script><!-- & &amp; -->",
        "'; DROP TABLE record; --",
        "\u{1}\u{7f}\u{85}", "Grüße aus Köln", "e\u{301} is not \u{e9}", "日本語と한국어", "שלום ‏ مرحبا",
        "👩‍👩‍👧‍👦🏳️‍🌈🇪🇺", "\u{feff}with a mark", "\u{2028}\u{2029}", "\u{10ffff}", "${HOME} %s %00 {{comment}}",
    ]

    @Test(
        "Comments and tags are stored unchanged, whatever text they contain", arguments: Implementation.allCases, texts)
    func text(_ implementation: Implementation, text: String) async throws {
        try await withJournal(implementation) { subject in
            let tag = Tag(name: text, color: text)
            let record = try record("2026-03-01T10:00:00Z", comment: text, tags: [tag.id])
            try await subject.journal.saveTags([tag])
            try await subject.journal.saveRecord(record)
            let reopened = try await subject.reopened()
            let (tags, records) = (try await reopened.journal.loadTags(), try await reopened.journal.loadAllRecords())
            // Swift strings can be equal although their scalars differ.
            #expect(tags.map { Array($0.name.utf8) } == [Array(text.utf8)] && tags == [tag])
            #expect(records.map { Array($0.comment.utf8) } == [Array(text.utf8)] && records == [record])
            try await reopened.close()
        }
    }

    @Test("A text with the character U+0000, which SQLite would cut, is refused", arguments: Implementation.allCases)
    func null(_ implementation: Implementation) async throws {
        try await withJournal(implementation) { subject in
            let record = try record("2026-03-01T10:00:00Z", comment: "before\u{0}after")
            await #expect(throws: FileStorageError.self) { try await subject.journal.saveRecord(record) }
            await #expect(throws: FileStorageError.self) { try await subject.journal.saveTags([Tag(name: "\u{0}")]) }
            #expect(try await subject.journal.loadTags() == [])
        }
    }

    @Test("A comment of four million characters is stored unchanged", arguments: Implementation.allCases)
    func long(_ implementation: Implementation) async throws {
        try await withJournal(implementation) { subject in
            let record = try record(
                "2026-03-01T10:00:00Z", comment: String(repeating: "Ein langer Satz. ", count: 250_000))
            try await subject.journal.saveRecord(record)
            #expect(try await subject.reloaded(record.id) == record)
        }
    }

    @Test("A record can have hundreds of tags", arguments: Implementation.allCases)
    func manyTags(_ implementation: Implementation) async throws {
        try await withJournal(implementation) { subject in
            let record = try record("2026-03-01T10:00:00Z", tags: (0..<500).map { _ in UUID() })
            try await subject.journal.saveRecord(record)
            #expect(try await subject.reloaded(record.id) == record)
        }
    }
}
