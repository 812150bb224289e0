import LFSHTTPStorage
import LFSStorage
import LFSWire
import Testing

@testable import LFSSigningServer

@Suite("Digests of parts")
struct PartsDigestsTests {
    private let sample = Sample(25)

    private func ticket() throws -> UploadTicket {
        UploadTicket(
            key: try ObjectKey("space/large"),
            bytes: DeclaredContent(byteCount: 25, sha256: Digests.sha256(sample.bytes)), partSize: 10, upload: "",
            replaces: false)
    }

    /// Returns the parts as a store lists them.
    private func parts(_ word: (SigningObject) -> (sha256: String?, md5: String?)) -> [SigningAnswer.Part] {
        (1...3).map { number in
            let (object, bytes) = sample.part(number, size: 10, of: "")
            let word = word(object)
            return .init(number: Int64(number), size: Int64(bytes.count), sha256: word.sha256, md5: word.md5)
        }
    }

    @Test func `Digests of the store prove the parts, and a SHA-256 counts before an MD5 tag`() throws {
        let done = sample.completion(10, of: "")
        let digests = PartsDigests(sha256: try #require(done.partsSHA256), md5: done.partsMD5)
        let odd = Digests.md5([9])
        #expect(try digests.isSatisfied(by: parts { ($0.sha256, odd) }, of: ticket()))
        #expect(try digests.isSatisfied(by: parts { (nil, $0.md5) }, of: ticket()))
        #expect(try !digests.isSatisfied(by: parts { _ in (nil, nil) }, of: ticket()))
    }

    @Test func `Tags that are not MD5s are a mismatch, unless the caller sends no MD5s`() throws {
        let done = sample.completion(10, of: "")
        let sha256 = try #require(done.partsSHA256)
        let odd = parts { _ in (nil, Digests.md5([9])) }
        let failure = #expect(throws: WireFailure.self) {
            try PartsDigests(sha256: sha256, md5: done.partsMD5).isSatisfied(by: odd, of: ticket())
        }
        #expect(failure?.code == .incomplete)
        #expect(try !PartsDigests(sha256: sha256, md5: nil).isSatisfied(by: odd, of: ticket()))
        // A different checksum means a different part.
        let wrong = parts { _ in (Digests.sha256([9]), nil) }
        #expect(throws: WireFailure.self) {
            try PartsDigests(sha256: sha256, md5: nil).isSatisfied(by: wrong, of: ticket())
        }
        // A missing part or one of another size is a mismatch too.
        #expect(throws: WireFailure.self) {
            try PartsDigests(sha256: sha256, md5: nil).isSatisfied(by: Array(odd.dropLast()), of: ticket())
        }
    }
}
