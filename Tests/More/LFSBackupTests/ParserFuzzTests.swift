import Foundation
import TestSupport
import Testing

@testable import LFSBackup

/// Tests with stamps, patterns and events as untrusted input.
@Suite("Fuzzed stamps, patterns and events", .timeLimit(.minutes(20)))
struct ParserFuzzTests {
    @Test("Any stamp is read or refused")
    func stamps() {
        var read = 0
        for bytes in FuzzedInputs(["5:1700000000.000000001:1700000000.5:644:1000:1000", "5:-1.0:1"]) {
            let text = String(decoding: bytes, as: UTF8.self)
            guard let attributes = FileAttributes(stamp: text) else { continue }
            read += 1
            #expect((0..<1_000_000_000).contains(attributes.nanoseconds))
            #expect(AssetVersion(byteCount: nil, text: text).hasContent(of: text))
        }
        #expect(read > 0)
    }

    @Test("Any pattern is parsed or refused without a crash")
    func patterns() {
        var taken = 0
        for bytes in FuzzedInputs(["/a/**/*.jp?g", "[!a-z]{x,y/z}", "a\\*b/", "**/[a-]"]) {
            guard let pattern = try? PathPattern(String(decoding: bytes, as: UTF8.self)) else { continue }
            taken += 1
            _ = PathFilter(including: [pattern], excluding: [])
        }
        #expect(taken > 0)
    }

    @Test("Any bytes from inotify are events or the start of an event")
    func events() {
        let event: [UInt8] =
            [1, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 0] + Array("photo.jpg".utf8)
            + [0, 0, 0, 0, 0, 0, 0]
        for bytes in FuzzedInputs([event + event + [0, 0, 0, 0]]) {
            var rest = bytes
            let events = InotifyEvent.take(from: &rest)
            #expect(events.count <= bytes.count / 16 + 1 && rest.count <= bytes.count)
        }
    }
}
