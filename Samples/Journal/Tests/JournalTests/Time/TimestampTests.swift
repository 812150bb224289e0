import Foundation
import JournalStorage
import Testing

@Suite("Text form of times")
struct TimestampTests {
    private struct Form: Codable {
        var start: String
    }

    private func text(_ date: Date) throws -> String {
        let data = try JSONEncoder().encode(TimeRecord(start: date))
        return try JSONDecoder().decode(Form.self, from: data).start
    }

    private func date(_ text: String) throws -> Date {
        let json = "{\"id\": \"\(UUID())\", \"start\": \"\(text)\"}"
        return try JSONDecoder().decode(TimeRecord.self, from: Data(json.utf8)).start
    }

    @Test("A time is written in UTC to the millisecond and read back unchanged")
    func written() throws {
        #expect(try text(Date(timeIntervalSince1970: 0)) == "1970-01-01T00:00:00.000Z")
        #expect(try text(Date(timeIntervalSince1970: -0.001)) == "1969-12-31T23:59:59.999Z")
        #expect(try text(Date(timeIntervalSince1970: 951_782_400)) == "2000-02-29T00:00:00.000Z")
        #expect(try text(Date(timeIntervalSince1970: 253_402_300_799.999)) == "9999-12-31T23:59:59.999Z")
        #expect(try text(Date(timeIntervalSince1970: -62_135_596_800)) == "0001-01-01T00:00:00.000Z")
        var milliseconds = -62_135_596_800_000
        while milliseconds < 253_402_300_799_999 {
            let moment = Date(timeIntervalSince1970: Double(milliseconds) / 1_000)
            #expect(try date(try text(moment)) == moment)
            milliseconds += 100_000_000_000 - 777
        }
    }

    @Test("The calendar agrees with Foundation from 1583 on")
    func calendar() throws {
        var day = try instant("1583-01-01T12:34:56Z")
        while day < (try instant("2500-01-01T00:00:00Z")) {
            #expect(try text(day).replacing(".000Z", with: "Z") == day.formatted(.iso8601))
            day += 86_400 * 17 + 1
        }
    }

    @Test("Other notations of a time are accepted")
    func read() throws {
        let expected = try instant("2026-03-29T01:30:00Z")
        let texts = [
            "2026-03-29T01:30:00Z", "2026-03-29T03:30:00+02:00", "2026-03-28T20:30:00-05:00", "2026-03-29T01:30:00.0Z",
        ]
        for text in texts { #expect(try date(text) == expected) }
        #expect(try date("2026-03-29T01:30:00.1239Z") == TimeRecord(start: expected.addingTimeInterval(0.124)).start)
    }

    @Test("An invalid time is refused")
    func refused() {
        let texts = [
            "", "today", "2026-03-29", "2026-13-01T00:00:00Z", "2026-02-29T00:00:00Z", "2026-00-10T00:00:00Z",
            "2026-01-01T24:00:00Z", "2026-01-01T00:60:00Z", "2026-01-01T00:00:60Z", "2026-01-01T00:00:00",
            "0000-01-01T00:00:00Z", "12026-01-01T00:00:00Z", "٢٠٢٦-01-01T00:00:00Z", "2026-01-01T00:00:00+24:00",
        ]
        for text in texts { #expect(throws: DecodingError.self, "\(text)") { try date(text) } }
    }
}
