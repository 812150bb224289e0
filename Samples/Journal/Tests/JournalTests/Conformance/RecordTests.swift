import Foundation
import JournalStorage
import Testing

@Suite("Records", .timeLimit(.minutes(10)))
struct RecordTests {
    @Test("A new journal has no records", arguments: Implementation.allCases)
    func none(_ implementation: Implementation) async throws {
        try await withJournal(implementation) { subject in
            let (from, to) = (Date.distantPast, Date.distantFuture)
            let all = try await subject.journal.loadAllRecords()
            #expect(all == [])
            #expect(try await subject.journal.loadRunningRecords() == [])
            #expect(try await subject.journal.loadRecords(from: from, to: to) == [])
            #expect(try await subject.journal.damagedRecords() == [])
        }
    }

    @Test("A record is loaded as it was saved, also by the next process", arguments: Implementation.allCases)
    func saved(_ implementation: Implementation) async throws {
        try await withJournal(implementation) { subject in
            var record = try record(
                "2026-03-01T10:00:00Z", end: "2026-03-01T11:30:00Z", comment: "A", tags: [UUID(), UUID()])
            record.timeZone = "Asia/Tokyo"
            try await subject.journal.saveRecord(record)
            #expect(try await subject.journal.loadAllRecords() == [record])
            #expect(try await subject.journal.loadRecord(record.id) == record)
            let reopened = try await subject.reopened()
            #expect(try await reopened.journal.loadAllRecords() == [record])
            try await reopened.close()
        }
    }

    @Test("Times are stored to the millisecond", arguments: Implementation.allCases)
    func milliseconds(_ implementation: Implementation) async throws {
        try await withJournal(implementation) { subject in
            for milliseconds in [1, 122, 123, 499, 500, 999] {
                let start = try instant("2026-03-01T10:00:00Z").addingTimeInterval(
                    Double(milliseconds) / 1_000 + 0.0003)
                let record = TimeRecord(start: start, end: start, timeZone: .gmt)
                #expect(abs(record.start.timeIntervalSince(start)) < 0.000_51)
                try await subject.journal.saveRecord(record)
                #expect(try await subject.reloaded(record.id) == record)
            }
        }
    }

    @Test("Records are sorted by start and id", arguments: Implementation.allCases)
    func order(_ implementation: Implementation) async throws {
        try await withJournal(implementation) { subject in
            let starts = [
                "2026-03-01T10:00:00Z", "1999-12-31T23:59:59Z", "2026-02-28T10:00:00Z", "1582-10-10T00:00:00Z",
                "9999-12-31T23:59:59Z", "2026-03-01T10:00:00Z", "1969-07-20T20:17:40Z",
            ]
            var records = try starts.map { try record($0, end: $0) }
            records.append(TimeRecord(start: Date(timeIntervalSince1970: -62_135_596_800)))
            for record in records { try await subject.journal.saveRecord(record) }
            let sorted = records.sorted { ($0.start, $0.name) < ($1.start, $1.name) }
            #expect(try await subject.journal.loadAllRecords() == sorted)
        }
    }

    @Test("A record that is saved again replaces the first one", arguments: Implementation.allCases)
    func savedAgain(_ implementation: Implementation) async throws {
        try await withJournal(implementation) { subject in
            var record = try record("2026-03-01T10:00:00Z", comment: "First", tags: [UUID()])
            try await subject.journal.saveRecord(record)
            record.comment = "Second"
            record.tags = []
            try await subject.journal.saveRecord(record)
            #expect(try await subject.journal.loadAllRecords() == [record])
        }
    }

    @Test("An update can change everything except the id", arguments: Implementation.allCases)
    func updated(_ implementation: Implementation) async throws {
        try await withJournal(implementation) { subject in
            let other = try record("2026-03-01T09:00:00Z", comment: "Another")
            var record = try record("2026-03-01T10:00:00Z", tags: [UUID()])
            for record in [record, other] { try await subject.journal.saveRecord(record) }
            record.start = try instant("2026-03-01T10:05:00Z")
            record.end = try instant("2026-03-01T10:06:00Z")
            record.comment = "Changed"
            record.tags = [UUID(), UUID()]
            record.timeZone = "America/New_York"
            try await subject.journal.updateRecord(record)
            #expect(try await subject.journal.loadAllRecords() == [other, record])
        }
    }

    @Test("A record that moves to another month takes its pictures along", arguments: Implementation.allCases)
    func moved(_ implementation: Implementation) async throws {
        try await withJournal(implementation) { subject in
            var record = try record("2026-03-31T23:59:59Z")
            try await subject.journal.saveRecord(record)
            try await subject.journal.saveImage(bytes(5_000), for: record, filename: record.image(0))
            record.images = [record.image(0)]
            for start in ["2026-04-01T00:00:00Z", "2025-12-01T00:00:00Z", "2026-03-01T00:00:00Z"] {
                record.start = try instant(start)
                try await subject.journal.updateRecord(record)
                #expect(try await subject.journal.loadAllRecords() == [record])
                let data = try await subject.journal.loadImage(filename: record.image(0), for: record)
                #expect(data == bytes(5_000))
                #expect(try await subject.journal.damagedRecords() == [])
            }
        }
    }

    @Test("Deleting a record deletes its pictures and no other record", arguments: Implementation.allCases)
    func deleted(_ implementation: Implementation) async throws {
        try await withJournal(implementation) { subject in
            let (gone, kept) = (try record("2026-03-01T10:00:00Z"), try record("2026-03-01T11:00:00Z"))
            for record in [gone, kept] {
                try await subject.journal.saveRecord(record)
                try await subject.journal.saveImage(bytes(100), for: record, filename: record.image(0))
            }
            try await subject.journal.deleteRecord(gone)
            #expect(try await subject.journal.loadAllRecords().map(\.id) == [kept.id])
            await #expect(throws: FileStorageError.self) {
                try await subject.journal.loadImage(filename: gone.image(0), for: gone)
            }
            #expect(try await subject.journal.loadImage(filename: kept.image(0), for: kept) == bytes(100))
            #expect(try await subject.journal.damagedRecords() == [])
        }
    }

    @Test("A deleted record can be saved again, without its pictures", arguments: Implementation.allCases)
    func deletedAndSaved(_ implementation: Implementation) async throws {
        try await withJournal(implementation) { subject in
            var record = try record("2026-03-01T10:00:00Z")
            try await subject.journal.saveRecord(record)
            try await subject.journal.saveImage(bytes(100), for: record, filename: record.image(0))
            try await subject.journal.deleteRecord(record)
            record.images = [record.image(0)]
            try await subject.journal.saveRecord(record)
            #expect(try await subject.journal.loadRecord(record.id).images == [])
        }
    }

    @Test("A damaged record is reported, hides no other record, and can be deleted", arguments: Implementation.allCases)
    func damaged(_ implementation: Implementation) async throws {
        try await withJournal(implementation) { subject in
            let (bad, good) = (try record("2026-03-01T10:00:00Z"), try record("2026-03-01T11:00:00Z"))
            for record in [bad, good] { try await subject.journal.saveRecord(record) }
            try await subject.corrupt(bad)
            await subject.local?.invalidateCache()
            #expect(try await subject.journal.loadAllRecords() == [good])
            #expect(try await subject.journal.loadRunningRecords() == [good])
            let damaged = try await subject.journal.damagedRecords()
            #expect(damaged.count == 1 && damaged[0].name.contains(bad.name) && !damaged[0].reason.isEmpty)
            await #expect { try await subject.journal.updateRecord(bad) } throws: { error in
                if case FileStorageError.decodingFailed = error { true } else { false }
            }
            try await subject.journal.deleteRecord(bad)
            #expect(try await subject.journal.damagedRecords() == [])
        }
    }
}

extension Subject {
    func reloaded(_ id: UUID) async throws -> TimeRecord? {
        await local?.invalidateCache()
        return try await journal.loadAllRecords().first { $0.id == id }
    }
}
