import Foundation
import JournalStorage
import Testing

@testable import JournalWeb

/// URLs and forms are untrusted input.
///
/// `LFS_FUZZ_ROUNDS` sets the number of requests, `LFS_FUZZ_SEED` sets the seed.
@Suite("Fuzzed requests", .serialized, .timeLimit(.minutes(60)))
struct RequestFuzzTests {
    private static let environment = ProcessInfo.processInfo.environment
    private static let texts =
        ExtremeInputTests.numbers + ExtremeInputTests.times + [
            "T.", "2026-01-01T10:00:00", "0.00000000-0000-0000-0000-000000000000", "..", "%", "<b>", "yes", "on",
            "00000000-0000-0000-0000-000000000000", "00000000-0000-7000-8000-000000000000", "editor", "x_1.jpg", "[]",
            String(repeating: "9", count: 400), "e\u{301}", "\u{202E}",
        ]

    @Test("Random URLs and forms never cause a server error")
    func requests() async throws {
        let rounds = Self.environment["LFS_FUZZ_ROUNDS"].flatMap(Int.init) ?? 300
        try await withWeb { subject in
            var state = Self.environment["LFS_FUZZ_SEED"].flatMap(UInt64.init) ?? 42
            func pick<Element>(_ elements: [Element]) -> Element {
                // Knuth's linear congruential generator (MMIX). The upper bits are more random.
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return elements[Int((state >> 33) % UInt64(elements.count))]
            }
            let web = try await subject.visiting()
            let record = try await web.record()
            _ = try await web.upload(WebSubject.picture(), to: record)
            let album = Album(ownerID: "me", name: "Summer", createdAt: Date())
            try await web.journal.saveAlbum(album)
            let (path, albumPath) = (web.path(record), "/albums/\(album.id.uuidString.lowercased())")
            let pages = [
                "/timeline", "/pictures", "/storage/free", path, "\(path)/images", "/files", "/albums", albumPath,
                "/thumbnails", "/settings", "/assets", "/records", "\(albumPath)/cover",
            ]
            let forms = [
                path, "\(path)/stop", "\(path)/pictures/order", "/records", "/albums", "/albums/add", "/albums/leave",
                albumPath, "\(albumPath)/remove", "\(albumPath)/favorite", "\(albumPath)/members",
                "\(albumPath)/members/remove", "\(albumPath)/keep", "/settings", "/settings/remove",
                "/settings/cache/clear",
                "/storage/free", "/storage/verify",
            ]
            let fields = [
                "before", "keep", "start", "end", "was-start", "was-end", "comment", "was-comment", "tags", "newTag",
                "album", "picture", "file", "member", "name", "role", "order", "edge", "page", "limit", "sure",
            ]
            for round in 0..<rounds {
                let pairs = (0..<3).map { _ in (pick(fields), pick(Self.texts)) }
                let text = pick(Self.texts).addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
                let query = pairs.map { name, value in
                    "\(name)=\(value.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? "")"
                }.joined(separator: "&")
                let reply =
                    switch round % 3 {
                    case 0: try await web.get("\(pick(pages))?\(query)")
                    case 1: try await web.get("\(pick(pages))/\(text)?\(query)")
                    default: try await web.post(pick(forms), fields: pairs)
                    }
                #expect(reply.status < 500, "\(round): \(reply.status) \(query) \(text)")
            }
            #expect(try await web.get("/health").status == 200)
        }
    }

    @Test("A Range field yields a valid part of the picture or is ignored")
    func ranges() {
        for first in ["", "0", "5", "9223372036854775807", "9223372036854775808", "-1", "10"] {
            for last in ["", "0", "4", "9223372036854775807", "9223372036854775808", "-9223372036854775808"] {
                for byteCount in [0, 1, 10, Int64.max] {
                    guard case .part(let range) = ByteRange("bytes=\(first)-\(last)", of: byteCount) else { continue }
                    #expect(range.lowerBound >= 0 && range.upperBound <= byteCount && !range.isEmpty)
                }
            }
        }
    }
}
