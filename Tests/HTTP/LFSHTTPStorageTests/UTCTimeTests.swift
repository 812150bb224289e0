import Foundation
import LFSHTTPStorage
import Testing

@Suite("UTC times", .timeLimit(.minutes(10)))
struct UTCTimeTests {
    @Test(
        "A date outside the years 0 to 9999 is written as the nearest date in them",
        arguments: [
            (.infinity, "9999-12-31"), (-.infinity, "0-1-1"), (1e300, "9999-12-31"), (-1e300, "0-1-1"),
            (253_402_300_800, "9999-12-31"), (-62_167_219_201, "0-1-1"), (.nan, "1970-1-1"),
            (10_413_792_000, "2300-1-1"),
        ] as [(Double, String)])
    func distant(_ seconds: Double, day: String) {
        let date = Date(timeIntervalSince1970: seconds)
        let time = UTCTime(date)
        #expect("\(time.year)-\(time.month)-\(time.day)" == day)
        #expect(HTTPDate.text(date).hasSuffix(" GMT"))
    }
}
