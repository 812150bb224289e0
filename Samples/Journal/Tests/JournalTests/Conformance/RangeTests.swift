import Foundation
import JournalStorage
import Testing

@Suite("Ranges and running records", .timeLimit(.minutes(10)))
struct RangeTests {
    private static let noon = "2026-03-10T12:00:00Z"
    private static let two = "2026-03-10T14:00:00Z"

    /// A record, and the expectation whether it belongs to the range from noon to two.
    struct Case: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let start: String
        let end: String?
        let belongs: Bool
    }

    private static let cases = [
        Case(testDescription: "inside", start: "2026-03-10T12:30:00Z", end: "2026-03-10T13:00:00Z", belongs: true),
        Case(testDescription: "the range itself", start: noon, end: two, belongs: true),
        Case(testDescription: "around it", start: "2025-01-01T00:00:00Z", end: "2027-01-01T00:00:00Z", belongs: true),
        Case(
            testDescription: "over its start", start: "2026-03-10T11:00:00Z", end: "2026-03-10T12:00:01Z", belongs: true
        ),
        Case(
            testDescription: "over its end", start: "2026-03-10T13:59:59Z", end: "2026-03-10T15:00:00Z", belongs: true),
        Case(testDescription: "ends as it starts", start: "2026-03-10T11:00:00Z", end: noon, belongs: false),
        Case(testDescription: "starts as it ends", start: two, end: "2026-03-10T15:00:00Z", belongs: false),
        Case(testDescription: "before", start: "2026-03-10T10:00:00Z", end: "2026-03-10T11:00:00Z", belongs: false),
        Case(testDescription: "after", start: "2026-03-10T15:00:00Z", end: "2026-03-10T16:00:00Z", belongs: false),
        Case(testDescription: "no length, at its start", start: noon, end: noon, belongs: true),
        Case(testDescription: "no length, at its end", start: two, end: two, belongs: false),
        Case(testDescription: "runs since before", start: "2026-03-01T00:00:00Z", end: nil, belongs: true),
        Case(testDescription: "runs since inside", start: "2026-03-10T13:00:00Z", end: nil, belongs: true),
        Case(testDescription: "runs since its end", start: two, end: nil, belongs: false),
    ]

    @Test("A range contains the records that overlap it", arguments: Implementation.allCases, cases)
    func range(_ implementation: Implementation, example: Case) async throws {
        try await withJournal(implementation) { subject in
            let record = try record(example.start, end: example.end)
            try await subject.journal.saveRecord(record)
            let (from, to) = (try instant(Self.noon), try instant(Self.two))
            let found = try await subject.journal.loadRecords(from: from, to: to)
            #expect(found == (example.belongs ? [record] : []))
            #expect(record.overlaps(from: from, to: to) == example.belongs)
        }
    }

    @Test("A range over several months is sorted and includes running records", arguments: Implementation.allCases)
    func months(_ implementation: Implementation) async throws {
        try await withJournal(implementation) { subject in
            let records = [
                try record("2026-01-31T23:00:00Z", end: "2026-02-01T01:00:00Z"), try record("2026-02-10T00:00:00Z"),
                try record("2026-03-01T00:00:00Z", end: "2026-03-01T01:00:00Z"), try record("2026-03-05T00:00:00Z"),
            ]
            for record in records.reversed() { try await subject.journal.saveRecord(record) }
            let (from, to) = (try instant("2026-02-01T00:00:00Z"), try instant("2026-03-02T00:00:00Z"))
            #expect(try await subject.journal.loadRecords(from: from, to: to) == Array(records.prefix(3)))
            #expect(try await subject.journal.loadRecords(from: .distantPast, to: .distantFuture) == records)
        }
    }

    @Test("An empty or reversed range contains no record", arguments: Implementation.allCases)
    func empty(_ implementation: Implementation) async throws {
        try await withJournal(implementation) { subject in
            try await subject.journal.saveRecord(try record("2026-03-10T10:00:00Z"))
            try await subject.journal.saveRecord(try record("2026-03-10T12:00:00Z", end: "2026-03-10T12:00:00Z"))
            let (noon, two) = (try instant(Self.noon), try instant(Self.two))
            #expect(try await subject.journal.loadRecords(from: noon, to: noon) == [])
            #expect(try await subject.journal.loadRecords(from: two, to: noon) == [])
        }
    }

    @Test("A record without an end is running, regardless of its start", arguments: Implementation.allCases)
    func running(_ implementation: Implementation) async throws {
        try await withJournal(implementation) { subject in
            var first = try record("2020-03-10T10:00:00Z")
            let second = try record("2026-03-10T10:00:00Z")
            for record in [second, first, try record("2026-03-10T10:00:00Z", end: "2026-03-10T10:00:00Z")] {
                try await subject.journal.saveRecord(record)
            }
            #expect(try await subject.journal.loadRunningRecords() == [first, second])
            first.end = try instant("2026-03-11T10:00:00Z")
            try await subject.journal.updateRecord(first)
            #expect(try await subject.journal.loadRunningRecords() == [second])
            first.end = nil
            try await subject.journal.updateRecord(first)
            #expect(try await subject.journal.loadRunningRecords() == [first, second])
        }
    }
}
