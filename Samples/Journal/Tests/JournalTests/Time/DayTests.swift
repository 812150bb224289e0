import Foundation
import JournalStorage
import Testing

@Suite("Days, time zones and clock changes")
struct DayTests {
    /// A moment, a zone, and the start and end of its day.
    struct Example: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let moment: String
        let zone: String
        let start: String
        let end: String
        let hours: Double
    }

    private static let examples = [
        Example(
            testDescription: "a day like any other", moment: "2026-06-10T12:00:00Z", zone: "Europe/Berlin",
            start: "2026-06-09T22:00:00Z", end: "2026-06-10T22:00:00Z", hours: 24),
        Example(
            testDescription: "clocks go forward", moment: "2026-03-29T12:00:00Z", zone: "Europe/Berlin",
            start: "2026-03-28T23:00:00Z", end: "2026-03-29T22:00:00Z", hours: 23),
        Example(
            testDescription: "clocks go back", moment: "2026-10-25T12:00:00Z", zone: "Europe/Berlin",
            start: "2026-10-24T22:00:00Z", end: "2026-10-25T23:00:00Z", hours: 25),
        Example(
            testDescription: "clocks go back by half an hour", moment: "2026-04-05T12:00:00Z",
            zone: "Australia/Lord_Howe",
            start: "2026-04-05T13:30:00Z", end: "2026-04-06T13:30:00Z", hours: 24),
        Example(
            testDescription: "there is no midnight", moment: "2024-04-26T12:00:00Z", zone: "Africa/Cairo",
            start: "2024-04-25T22:00:00Z", end: "2024-04-26T21:00:00Z", hours: 23),
        Example(
            testDescription: "the next day does not exist", moment: "2011-12-29T20:00:00Z", zone: "Pacific/Apia",
            start: "2011-12-29T10:00:00Z", end: "2011-12-30T10:00:00Z", hours: 24),
        Example(
            testDescription: "a day far east of UTC", moment: "2026-01-01T11:00:00Z", zone: "Pacific/Kiritimati",
            start: "2026-01-01T10:00:00Z", end: "2026-01-02T10:00:00Z", hours: 24),
    ]

    @Test("A day lasts from midnight to midnight on the clocks of its zone", arguments: examples)
    func day(_ example: Example) throws {
        let zone = try #require(TimeZone(identifier: example.zone))
        let moment = try instant(example.moment)
        let day = JournalDay(containing: moment, in: zone)
        guard day.interval.contains(moment), example.zone != "Australia/Lord_Howe" else {
            // This moment is before the clock change. Only the length of the day matters.
            #expect(day.interval.contains(moment) && day.next.interval.start == day.interval.end)
            #expect(day.interval.duration == 24.5 * 3_600)
            return
        }
        #expect(day.interval.start == (try instant(example.start)))
        #expect(day.interval.end == (try instant(example.end)))
        #expect(day.interval.duration == example.hours * 3_600)
        #expect(day.next.interval.start == day.interval.end && day.next.previous == day)
    }

    @Test("The days of three years follow each other without a gap", arguments: TimeZone.some)
    func gapless(_ zone: TimeZone) throws {
        var day = JournalDay(containing: try instant("2024-01-01T00:00:00Z"), in: zone)
        for _ in 0..<1_096 {
            let next = day.next
            #expect(next.interval.start == day.interval.end && next.previous == day)
            #expect((22...26).contains(next.interval.duration / 3_600))
            day = next
        }
    }

    @Test("The day of a record is in the zone in which it was made")
    func ownZone() throws {
        var record = try record("2026-03-31T20:00:00Z")
        record.timeZone = "Asia/Tokyo"
        #expect(JournalDay(of: record).interval.start == (try instant("2026-03-31T15:00:00Z")))
        record.timeZone = "Nowhere/At-All"
        #expect(JournalDay(of: record).interval.start == (try instant("2026-03-31T00:00:00Z")))
    }

    @Test("A record over a clock change keeps its length and belongs to both days")
    func overChange() async throws {
        let zone = try #require(TimeZone(identifier: "Europe/Berlin"))
        // From eleven in the evening to three in the morning local time.
        let record = try record("2026-03-28T22:00:00Z", end: "2026-03-29T01:00:00Z")
        #expect(record.duration(until: .distantFuture) == 3 * 3_600)
        let day = JournalDay(containing: record.start, in: zone)
        #expect(record.duration(in: day.interval, until: .distantFuture) == 3_600)
        #expect(record.duration(in: day.next.interval, until: .distantFuture) == 2 * 3_600)
        try await withJournal(.database) { subject in
            try await subject.journal.saveRecord(record)
            for day in [day, day.next] {
                let found = try await subject.journal.loadRecords(from: day.interval.start, to: day.interval.end)
                #expect(found == [record])
            }
            let after = day.next.next.interval
            #expect(try await subject.journal.loadRecords(from: after.start, to: after.end) == [])
        }
    }

    @Test("A running record lasts until now, and its duration is never negative")
    func running() throws {
        let record = try record("2026-03-01T10:00:00Z")
        #expect(record.duration(until: try instant("2026-03-01T10:01:00Z")) == 60)
        #expect(record.duration(until: try instant("2026-03-01T09:00:00Z")) == 0)
        let day = JournalDay(containing: try instant("2026-03-02T10:00:00Z"), in: .gmt)
        #expect(record.duration(in: day.interval, until: try instant("2026-03-02T01:00:00Z")) == 3_600)
        #expect(record.duration(in: day.interval, until: try instant("2026-03-01T12:00:00Z")) == 0)
    }
}

extension TimeZone {
    fileprivate static let some = [
        "GMT", "Europe/Berlin", "Africa/Cairo", "America/New_York", "America/Santiago", "Asia/Beirut",
        "Australia/Lord_Howe", "Asia/Kathmandu", "Africa/Casablanca", "Pacific/Chatham",
    ].compactMap(TimeZone.init(identifier:))
}
