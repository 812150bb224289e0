import Foundation
import FoundationNetworking
import HTTPTypes
import Hummingbird
import LFSSyncServer
import NIOCore
import Synchronization
import Testing

@testable import LFSServer

@Suite("gzip", .timeLimit(.minutes(10)))
struct GzipTests {
    private func sample(_ count: Int) -> [UInt8] {
        (0..<count).flatMap { Array("{\"type\":\"RecipeV1\",\"data\":{\"id\":\"r\($0 &* 7_919)\"}}\n".utf8) }
    }

    private func decoded(_ bytes: [UInt8], limit: Int = 8 << 20, pieceSize: Int) throws -> [UInt8] {
        let decoder = try GzipDecoder(limit: limit)
        for start in stride(from: 0, to: bytes.count, by: pieceSize) {
            try decoder.decode(Array(bytes[start..<min(start + pieceSize, bytes.count)]))
        }
        return try decoder.finish()
    }

    @Test("Compressed pieces are decoded in any size, each as soon as it arrives")
    func pieces() throws {
        let (encoder, decoder) = (try GzipEncoder(), try GzipDecoder(limit: 8 << 20))
        var (whole, coded): ([UInt8], [UInt8]) = ([], [])
        for count in [1, 0, 5_000, 3, 12_000] {
            let piece = sample(count)
            let bytes = try encoder.encode(piece)
            whole = whole + piece
            coded = coded + bytes
            try decoder.decode(bytes)
            #expect(decoder.output == whole)
        }
        coded += try encoder.finish()
        #expect(coded.count < whole.count / 4)
        for size in [1, 7, 4_096, coded.count] { #expect(try decoded(coded, pieceSize: size) == whole) }
    }

    @Test("Truncated, damaged and trailing gzip data is refused")
    func damaged() throws {
        let encoder = try GzipEncoder()
        let good = try encoder.encode(sample(400)) + encoder.finish()
        for end in [0, 1, 10, good.count / 2, good.count - 1] {
            #expect(throws: GzipFailure.invalid, "\(end)") { try decoded(Array(good.prefix(end)), pieceSize: 100) }
        }
        for index in [0, 3, good.count / 2, good.count - 5] {
            var bad = good
            bad[index] ^= 0x55
            #expect(throws: GzipFailure.invalid, "\(index)") { try decoded(bad, pieceSize: 100) }
        }
        for size in [1, 1 << 20] {
            #expect(throws: GzipFailure.invalid) { try decoded(good + [0], pieceSize: size) }
            #expect(throws: GzipFailure.invalid) { try decoded(good + good, pieceSize: size) }
        }
        #expect(throws: GzipFailure.invalid) { try decoded(sample(10), pieceSize: 100) }
    }

    @Test("Decoding stops at the limit of decompressed bytes")
    func bomb() throws {
        let encoder = try GzipEncoder()
        var coded: [UInt8] = []
        for _ in 0..<64 { coded += try encoder.encode([UInt8](repeating: 32, count: 1 << 20)) }
        coded += try encoder.finish()
        #expect(coded.count < 400_000)
        let decoder = try GzipDecoder(limit: 1 << 20)
        try decoder.decode(coded)
        #expect(decoder.isOverLimit && decoder.output.count == (1 << 20) + 1)
        #expect(try decoder.finish().count == (1 << 20) + 1)
    }

    @Test(
        "A reply is compressed only for a client that accepts gzip",
        arguments: [
            ("gzip", true), ("deflate, GZIP;q=0.5", true), ("br;q=1, gzip ; q=1", true), ("gzip;q=0", false),
            ("gzip; q=0.000", false), ("", false), ("identity", false), ("xgzip", false), ("*", false),
            ("gzip;q=x", false),
        ])
    func accept(field: String, isTaken: Bool) {
        var head = HTTPRequest(method: .post, scheme: "http", authority: "x", path: "/")
        head.headerFields[.acceptEncoding] = field
        #expect(ContentCoding.takesGzip(Request(head: head, body: RequestBody(buffer: ByteBuffer()))) == isTaken)
    }
}
