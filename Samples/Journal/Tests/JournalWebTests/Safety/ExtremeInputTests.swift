import Foundation
import JournalStorage
import Testing

@testable import JournalWeb

/// Numbers and times in URLs and forms are untrusted input. None of them may end the process.
@Suite("Extreme numbers in requests", .timeLimit(.minutes(10)))
struct ExtremeInputTests {
    static let numbers = [
        "-9223372036854775808", "9223372036854775807", "-9223372036854775809", "9223372036854775808", "-0", "+1", "",
        "1e999", "NaN", "-inf", "0x7fffffffffffffff", "281474976710656", "-281474976710656",
        "99999999999999999999999999999999999999", "1.5", "\u{0}", "٣",
    ]

    @Test("A timeline position far in the past or future is refused")
    func places() async throws {
        try await withWeb { web in
            for number in Self.numbers {
                let text = number.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
                let place = "\(text).00000000-0000-0000-0000-000000000000"
                let reply = try await web.get("/timeline?before=\(place)")
                let isPlace = ["-0", "+1"].contains(number)
                #expect(reply.status == (isPlace ? 200 : 400), "\(number)")
            }
            #expect(try await web.get("/health").status == 200)
        }
    }

    @Test("A number in a URL is refused or clamped")
    func queries() async throws {
        try await withWeb { web in
            for number in Self.numbers {
                let text = number.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
                for path in [
                    "/storage/free?keep=\(text)", "/records/\(text)", "/albums/\(text)", "/files/\(text)",
                    "/pictures?month=\(text)&part=0", "/pictures?month=9999-12&part=\(text)",
                ] {
                    let status = try await web.get(path).status
                    #expect(status < 500, "\(path)")
                }
            }
        }
    }

    static let times = [
        "T", "T.", "2026-01-01T", "2026-01-01T.", "T.5", "TT", "2026-01-01T:", "2026-01-01T::", "-T:", ".T.",
        "2026-01-01T10:00.", "99999-01-01T10:00", "2026-01-01T65535:65536", "-1-1-1T1:1", "T-9223372036854775808:0",
    ]

    @Test("A text that is not a time is not accepted as one", arguments: times)
    func localTimes(_ text: String) {
        let date = LocalTime(.gmt).date(text)
        #expect((date != nil) == (text == "2026-01-01T10:00."))
    }

    @Test("A form with an invalid time is refused and changes nothing")
    func forms() async throws {
        try await withWeb { subject in
            let web = try await subject.visiting()
            let record = try await web.record()
            for text in Self.times where text != "2026-01-01T10:00." {
                for field in ["start", "end", "was-start", "was-end"] {
                    let reply = try await web.post(web.path(record), fields: [("comment", "Walk"), (field, text)])
                    #expect(reply.status < 500, "\(field) \(text): \(reply.status)")
                }
            }
            #expect(try await web.journal.loadRecord(record.id).start == record.start)
        }
    }
}
