import Foundation
import LFSHTTPStorage
import TestSupport
import Testing

/// Header fields and documents of a server are untrusted input.
@Suite("Fuzzed header fields", .timeLimit(.minutes(10)))
struct FieldFuzzTests {
    private let now = Date(timeIntervalSince1970: 1_700_000_000)

    @Test("A random date is parsed or refused, and a parsed date can be written")
    func dates() {
        let samples = [
            "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
            "2009-10-12T17:50:30.000Z", "9999-12-31T23:59:60Z", "0000-01-01T00:00:00Z",
        ]
        var count = 0
        for bytes in FuzzedInputs(samples) {
            let text = String(decoding: bytes, as: UTF8.self)
            for date in [HTTPDate.parse(text, now: now), UTCTime(iso8601: text)?.date] {
                // Dates with a year of four digits have exactly one form.
                guard let date, (-30_610_224_000...253_402_300_799).contains(date.timeIntervalSince1970) else {
                    continue
                }
                count += 1
                #expect(HTTPDate.parse(HTTPDate.text(date), now: now) == date, "\(text)")
            }
        }
        #expect(count > 0)
    }

    @Test("A random Retry-After is at most a day or refused")
    func retryAfter() {
        for bytes in FuzzedInputs(["120", "0", "Sun, 06 Nov 1994 08:49:37 GMT", "Wed, 15 Nov 2023 22:13:20 GMT"]) {
            let wait = RetryAfter.parse(String(decoding: bytes, as: UTF8.self), now: now)
            #expect(wait.map { (Duration.zero...RetryAfter.limit).contains($0) } ?? true)
        }
    }

    @Test("A random Content-Range is within its total or refused")
    func contentRange() {
        for bytes in FuzzedInputs(["bytes 0-99/100", "bytes 5-5/6", "bytes */100"]) {
            guard let range = ContentRange(String(decoding: bytes, as: UTF8.self)) else { continue }
            #expect(0 <= range.first && range.first <= range.last && range.last < range.total)
        }
    }
}
