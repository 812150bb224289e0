import Testing

@testable import LFSWire

/// Tests of parsing a text, as a String and as raw bytes.
@Suite("Text values in lines", .timeLimit(.minutes(10)))
struct JSONTextTests {
    /// - Returns: nil if both ways refuse the text.
    private func read(_ json: [UInt8]) -> String? {
        let text = json.withUnsafeBytes { bytes in
            var scanner = JSONScanner(bytes)
            return try? scanner.text()
        }
        let cells = json.withUnsafeBytes { bytes in
            var scanner = JSONScanner(bytes)
            var cells = SyncCells()
            return (try? scanner.value(to: &cells)).map { cells }
        }
        #expect(cells?.values == text.map { [.text($0)] })
        #expect(cells?.hasNUL == text.map { $0.unicodeScalars.contains("\0") })
        return text
    }

    @Test("The end of a text is found at any position")
    func ends() {
        for length in 0...20 {
            for filler in ["x", "é", "\u{7F}", "!", "#", "[", "]", "\u{10FFFF}"] {
                let text = String(repeating: filler, count: length)
                let bytes = Array(text.utf8)
                #expect(read([0x22] + bytes + [0x22]) == text)
                #expect(read([0x22] + bytes + [0x22] + bytes) == text)
                #expect(read([0x22] + bytes + Array(#"\n"#.utf8) + bytes + [0x22]) == text + "\n" + text)
                #expect(read([0x22] + bytes + Array(#"\u0000"#.utf8) + bytes + [0x22]) == text + "\0" + text)
                #expect(read([0x22] + bytes) == nil)
                #expect(read([0x22] + bytes + [0x5C]) == nil)
                for control in UInt8(0)..<0x20 {
                    #expect(read([0x22] + bytes + [control] + bytes + [0x22]) == nil)
                }
            }
        }
    }

    @Test("Bytes that are not valid UTF-8 are refused at any position")
    func encoding() {
        // An overlong form, half a surrogate pair, an invalid start byte, a cut sequence, and a lone continuation byte.
        for wrong: [UInt8] in [[0xC0, 0xAF], [0xED, 0xA0, 0x80], [0xFF], [0xE2, 0x82], [0x80]] {
            for length in 0...17 {
                let filler = [UInt8](repeating: 0x61, count: length)
                for end in [[], Array(#"\t"#.utf8), filler] {
                    #expect(read([0x22] + filler + wrong + end + [0x22]) == nil)
                    #expect(read([0x22] + Array(#"\t"#.utf8) + filler + wrong + end + [0x22]) == nil)
                }
            }
        }
    }

    @Test(
        "Whole numbers keep their values, and malformed numbers are refused",
        arguments: [
            ("0", SyncValue.integer(0)), ("-0", .integer(0)), ("7", .integer(7)), ("-7", .integer(-7)),
            ("999999999999999999", .integer(999_999_999_999_999_999)),
            ("1000000000000000000", .integer(1_000_000_000_000_000_000)),
            ("9223372036854775807", .integer(.max)), ("-9223372036854775808", .integer(.min)),
            ("9223372036854775808", .real(9_223_372_036_854_775_808)), ("1.0", .real(1)),
            ("1e3", .real(1_000)), ("0.5", .real(0.5)), ("-0.25", .real(-0.25)), ("0e1", .real(0)),
            ("-", nil), ("--1", nil), ("+1", nil), ("1-2", nil), ("", nil), (".5", nil),
            ("00", nil), ("01", nil), ("-01", nil), ("00.5", nil), ("-00.5", nil), ("01e2", nil),
            ("09223372036854775807", nil), ("1.", nil), ("-1.", nil), ("1.e3", nil),
        ] as [(String, SyncValue?)])
    func numbers(_ text: String, value: SyncValue?) {
        let read = Array(text.utf8).withUnsafeBytes { bytes in
            var scanner = JSONScanner(bytes)
            let value = try? scanner.value()
            return (try? scanner.end()) == nil ? nil : value
        }
        #expect(read == value)
    }

    @Test("Values stored in one buffer are read back unchanged")
    func cells() {
        let values: [SyncValue] = [
            .null, .integer(.min), .text(""), .blob([]), .real(-.infinity), .text("é💐"), .blob([0, 255]), .integer(0),
            .text("x"), .real(0.1),
        ]
        for count in 0...values.count {
            let some = Array(values.prefix(count))
            let cells = SyncCells(some)
            #expect(cells.values == some && cells.count == count)
            #expect(some.indices.allSatisfy { cells[$0] == some[$0] })
        }
        #expect(SyncCells([.text("x")]).startsWithText && !SyncCells([.null, .text("x")]).startsWithText)
        #expect(!SyncCells([]).startsWithText)
    }
}
