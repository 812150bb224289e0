import Foundation
import LFSHTTPStorage
import Testing

@Suite("HTTP dates") struct HTTPDateTests {
    @Test("Dates of 600 years match Foundation's calendar")
    func calendar() throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(identifier: "UTC"))
        var seconds = -11_676_096_000
        while seconds < 7_258_118_400 {
            let date = Date(timeIntervalSince1970: Double(seconds))
            let time = UTCTime(date)
            #expect(time.date == date)
            // Calendar is slow, so it checks one day in 97.
            if seconds % 97 == 0 {
                let parts = calendar.dateComponents(
                    [.year, .month, .day, .hour, .minute, .second, .weekday], from: date)
                let expected = UTCTime(
                    year: parts.year ?? 0, month: parts.month ?? 0, day: parts.day ?? 0, hour: parts.hour ?? 0,
                    minute: parts.minute ?? 0, second: parts.second ?? 0)
                #expect(time == expected)
                #expect(time.weekday == parts.weekday.map { $0 - 1 })
            }
            seconds += 86_399
        }
    }

    @Test(
        "Dates in header fields are parsed in three forms",
        arguments: ["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"])
    func threeForms(_ text: String) {
        #expect(HTTPDate.parse(text) == Date(timeIntervalSince1970: 784_111_777))
    }

    @Test("A year of two digits is at most 50 years ahead")
    func shortYears() {
        let now = Date(timeIntervalSince1970: 1_772_323_199)
        #expect(HTTPDate.parse("Wednesday, 01-Jan-76 00:00:00 GMT", now: now)?.timeIntervalSince1970 == 3_345_062_400)
        #expect(HTTPDate.parse("Saturday, 01-Jan-77 00:00:00 GMT", now: now)?.timeIntervalSince1970 == 220_924_800)
    }

    @Test("A leap second counts as the following second")
    func leapSecond() {
        #expect(HTTPDate.parse("Sat, 31 Dec 2016 23:59:60 GMT") == Date(timeIntervalSince1970: 1_483_228_800))
    }

    @Test(
        "A malformed HTTP date is refused",
        arguments: [
            "", "Sun", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 UTC", "Sun, 06 Nov 1994 08:49:37 GMT ",
            "Mon, 06 Nov 1994 08:49:37 GMT", "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 nov 1994 08:49:37 GMT",
            "Sun, 06 Nov 94 08:49:37 GMT", "Sun, 06 Nov 1994 24:49:37 GMT", "Sun, 06 Nov 1994 08:60:37 GMT",
            "Sun, 06 Nov 1994 08:49:61 GMT", "Thu, 30 Feb 1994 08:49:37 GMT", "Sun, 00 Nov 1994 08:49:37 GMT",
            "Sunday, 06 Nov 1994 08:49:37 GMT", "Sun, 06-Nov-94 08:49:37 GMT", "Sun Nov 6 08:49:37 1994",
            "1994-11-06T08:49:37Z", "784111777", "Sun, +6 Nov 1994 08:49:37 GMT", "Sun,  06 Nov 1994 08:49:37 GMT",
        ])
    func refused(_ text: String) {
        #expect(HTTPDate.parse(text) == nil)
    }

    @Test(
        "Dates in replies are parsed in one form",
        arguments: [
            ("2013-05-24T00:00:00.000Z", 1_369_353_600.0), ("2013-05-24T00:00:00Z", 1_369_353_600),
            ("2013-05-24T00:00:01.123456789Z", 1_369_353_601), ("2013-05-24T00:00:00", nil),
            ("2013-05-24T00:00:00+02:00", nil), ("2013-05-24T00:00:00.Z", nil), ("2013-13-24T00:00:00Z", nil),
            ("2013-05-24 00:00:00Z", nil), ("-013-05-24T00:00:00Z", nil), ("", nil),
        ])
    func iso8601(_ text: String, seconds: Double?) {
        #expect(UTCTime(iso8601: text)?.date?.timeIntervalSince1970 == seconds)
    }

    @Test("The signing clock follows the server after a refusal")
    func signingClock() {
        let machine = Date(timeIntervalSince1970: 1_000_000)
        let clock = SigningClock(system: { machine })
        #expect(clock.now == machine)
        #expect(clock.adjust(to: machine.addingTimeInterval(3_600), signedAt: machine))
        #expect(clock.now == machine.addingTimeInterval(3_600))
        #expect(!clock.adjust(to: machine.addingTimeInterval(3_630), signedAt: clock.now))
        #expect(clock.now == machine.addingTimeInterval(3_600))
        #expect(
            clock.adjust(to: machine.addingTimeInterval(3_600), signedAt: machine), "the first signature is refused")
        #expect(clock.adjust(to: machine, signedAt: clock.now))
        #expect(clock.now == machine)
    }

    @Test func `A server clock that is more than a day away is ignored`() {
        let machine = Date(timeIntervalSince1970: 1_000_000)
        let clock = SigningClock(system: { machine })
        for day in [-86_400.0, 86_400] {
            #expect(clock.adjust(to: machine.addingTimeInterval(day), signedAt: machine))
            #expect(clock.now == machine.addingTimeInterval(day))
            #expect(!clock.adjust(to: machine.addingTimeInterval(day * 1.01), signedAt: machine))
            #expect(clock.now == machine.addingTimeInterval(day), "the time from before is kept")
        }
    }
}
