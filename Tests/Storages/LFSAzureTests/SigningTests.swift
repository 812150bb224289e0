import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSTesting
import TestSupport
import Testing

@testable import LFSAzure

@Suite("Shared key signatures")
struct SigningTests {
    /// Returns the collation key of the service's order, in which hyphens only break ties and letters follow digits, as
    /// in the tables of Microsoft's own libraries.
    private func placed(_ name: String) -> [UInt8] {
        Array(name.utf8.filter { $0 != UInt8(ascii: "-") }) + [0] + name.utf8.map { $0 == UInt8(ascii: "-") ? 1 : 0 }
    }

    @Test("Header names have the same order in both collations")
    func collation() async throws {
        let fake = FakeAzure()
        let large = SampleBytes.make((2 << 20) + 1)
        let storage = try fake.storage { $0.accessTier = "Cool" }
        let key = try ObjectKey("a/b")
        for bytes in [[1], large] {
            let source = UploadSource(
                byteCount: Int64(bytes.count), sha256: SampleBytes.sha256(bytes), contentType: "text/plain", name: "n"
            ) { buffer, offset in
                let piece = bytes[Int(offset)...].prefix(buffer.count)
                piece.withUnsafeBytes { buffer.copyMemory(from: $0) }
                return piece.count
            }
            _ = try await storageError { try await storage.upload(source, to: key, session: UploadSession()) }
        }
        _ = try await storageError { try await storage.contents(key, range: 0..<1) }
        try await storage.delete(key, abandoning: nil)
        var names = Set<String>()
        for request in fake.requests {
            let own = request.headers.fields.map(\.name).filter { $0.hasPrefix("x-ms-") }
            names.formUnion(own)
            #expect(own.allSatisfy { $0 == $0.lowercased() })
        }
        #expect(names.count >= 10)
        // The order of all names implies the order of every subset.
        let ordinal = names.sorted()
        #expect(names.sorted { placed($0).lexicographicallyPrecedes(placed($1)) } == ordinal)
        // The metadata name that S3 uses would differ.
        let hyphens = (names.subtracting(["x-ms-meta-lfssha256"])).union(["x-ms-meta-lfs-sha256"])
        #expect(hyphens.sorted { placed($0).lexicographicallyPrecedes(placed($1)) } != hyphens.sorted())
    }

    @Test("The signed text of a shared key has the documented lines")
    func lines() throws {
        let headers: HTTPHeaders = [
            "if-none-match": "*", "x-ms-version": "2023-11-03", "x-ms-date": "Mon, 23 Nov 2026 01:02:03 GMT",
            "content-type": "application/xml",
        ]
        let text = SharedKeySignature.stringToSign(
            .put, account: "account", path: "/account/c/a%20b", query: [("comp", "block"), ("blockid", "a+/=")],
            headers: headers, byteCount: 7)
        #expect(
            text == """
                PUT


                7

                application/xml



                *


                x-ms-date:Mon, 23 Nov 2026 01:02:03 GMT
                x-ms-version:2023-11-03
                /account/account/c/a%20b
                blockid:a+/=
                comp:block
                """)
    }

    @Test("An account key that is not base64 is refused", arguments: ["", "not base64!", "a"])
    func badKey(_ key: String) async throws {
        let error = try await storageError { try await FakeAzure().storage(.sharedKey(key)).requireCredentials() }
        #expect(error?.code == .unauthorized)
    }

    @Test("Dates of signed Azure requests are in HTTP format", arguments: [0, 951_782_400, 1_795_395_723])
    func date(_ seconds: Int) throws {
        let date = Date(timeIntervalSince1970: Double(seconds))
        let text = HTTPDate.text(date)
        #expect(HTTPDate.parse(text) == date)
        #expect(text.utf8.count == 29)
        if seconds == 0 { #expect(text == "Thu, 01 Jan 1970 00:00:00 GMT") }
    }
}

@Suite("Azure requests")
struct WireTests {
    @Test("Azure's checksum is a CRC-64/NVME with reversed bytes")
    func checksum() throws {
        // The check value of the algorithm is AE8B14860A799888.
        let expected = Data([0x88, 0x98, 0x79, 0x0A, 0x86, 0x14, 0x8B, 0xAE]).base64EncodedString()
        #expect(ContentCRC64(of: Array("123456789".utf8)).text == expected)
        #expect(ContentCRC64(hex: "ae8b14860a799888")?.text == expected)
        for hex in [nil, "", "ae8b", "ae8b14860a7998881", "xx8b14860a799888"] { #expect(ContentCRC64(hex: hex) == nil) }
    }

    @Test("Block names have equal length and contain the content and the position")
    func names() throws {
        let (one, other) = (SampleBytes.sha256([1]), SampleBytes.sha256([2]))
        let ids = [(one, 1), (one, 2), (other, 1), (one, 50_000)].compactMap {
            BlockID(sha256: $0.0, number: $0.1)?.text
        }
        #expect(Set(ids).count == 4 && Set(ids.map(\.utf8.count)) == [44])
        #expect(Data(base64Encoded: ids[3])?.suffix(4) == Data([0, 0, 0xC3, 0x50]))
        #expect(BlockID(sha256: nil, number: 1) == nil && BlockID(sha256: "00", number: 1) == nil)
        #expect(BlockID(sha256: one, number: -1) == nil)
    }

    @Test("A block checkpoint contains no secret")
    func checkpoint() throws {
        let checkpoint = try BlockCheckpoint(.temporary([1]), partSize: 5).encoded()
        #expect(BlockCheckpoint(checkpoint)?.sha256 == SampleBytes.sha256([1]))
        #expect(BlockCheckpoint(UploadCheckpoint(rawValue: Data("{}".utf8))) == nil)
        let fields = try #require(try JSONSerialization.jsonObject(with: checkpoint.rawValue) as? [String: Any])
        #expect(Set(fields.keys) == ["sha256", "partSize"])
    }
}
