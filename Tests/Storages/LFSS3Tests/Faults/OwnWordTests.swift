import Foundation
import LFSHTTPStorage
import LFSStorage
import LFSTesting
import TestSupport
import Testing

@testable import LFSS3

/// Tests of servers that corrupt a body before storing it, and of the evidence that the client accepts for an object.
@Suite("Evidence for an existing object", .timeLimit(.minutes(10)))
struct OwnWordTests {
    /// A provider whose tags are MD5s. It supports conditions and stores no checksum.
    private static let tagging: S3Provider = {
        var provider = S3Provider.strict
        provider.keepsChecksums = false
        provider.entityTagIsMD5 = true
        return provider
    }()

    /// A provider that supports conditions and gives no evidence of the bytes.
    private static let silent: S3Provider = {
        var provider = S3Provider.strict
        provider.keepsChecksums = false
        return provider
    }()

    /// Stores a body with a flipped bit and the fields that match the stored bytes.
    private static func storeFlipped(_ exchange: FakeExchange, bit: Int) throws {
        var body = try exchange.connection.readBody(of: exchange.request)
        if exchange.request.headers["if-none-match"] != nil, exchange.fake.objects[exchange.path] != nil {
            return try exchange.send(.error(412, code: "PreconditionFailed"))
        }
        body[bit / 8 % body.count] ^= 1 << UInt8(bit % 8)
        let proof = exchange.fake.proof(exchange, body)
        exchange.fake.store(
            body, at: String(exchange.path.dropFirst()), fields: exchange.objectFields.merging(proof) { $1 })
        try exchange.send(FakeReply(200, headers: proof))
    }

    /// Uploads as the queue does, one attempt after another.
    private func upload(_ source: UploadSource, to storage: S3Storage) async throws -> RemoteObject {
        for _ in 1...8 {
            do {
                return try await storage.upload(source, to: .sample(), session: .init())
            } catch let error as StorageError where error.isRetryable {}
        }
        return try await storage.upload(source, to: .sample(), session: .init())
    }

    @Test("Metadata alone never confirms an object if entity tags are MD5s")
    func taggingServer() async throws {
        var wrong: [UInt64] = []
        for seed in UInt64(0)..<112 {
            let random = LockedGenerator(seed: seed)
            try await withFakeS3(Self.tagging) { fake, storage in
                let bytes = SampleBytes.make(1 + random.next(below: 20_000), seed: seed)
                let (skipped, times) = (random.next(below: 2), 1 + random.next(below: 3))
                fake.fail(.put, after: skipped, times: times) {
                    try Self.storeFlipped($0, bit: random.next(below: 1 << 20))
                }
                let object = try await upload(.temporary(bytes), to: storage)
                if fake.stored != bytes || object.sha256 == nil { wrong.append(seed) }
            }
        }
        #expect(wrong == [], "rows that are `remote` although the object has other bytes")
    }

    @Test("An object is never confirmed by a server without checksums")
    func silentServer() async throws {
        var wrong: [UInt64] = []
        for seed in UInt64(0)..<74 {
            let random = LockedGenerator(seed: seed)
            try await withFakeS3(Self.silent) { fake, storage in
                let bytes = SampleBytes.make(1 + random.next(below: 20_000), seed: seed)
                fake.fail(.put, after: random.next(below: 2), times: 1 + random.next(below: 3)) {
                    try Self.storeFlipped($0, bit: random.next(below: 1 << 20))
                }
                let object = try await upload(.temporary(bytes), to: storage)
                if fake.stored != bytes, object.sha256 != nil { wrong.append(seed) }
                #expect(object.byteCount == Int64(bytes.count))
            }
        }
        #expect(wrong == [], "rows whose other bytes count as proven")
    }

    @Test("An unconfirmed object is uploaded again after a doubtful attempt")
    func doubtfulTry() async throws {
        try await withFakeS3(Self.silent) { fake, storage in
            let bytes = SampleBytes.make(10_000)
            fake.fail(.put) { exchange in
                _ = try exchange.act()
                try exchange.send(.page(502))
            }
            let object = try await upload(.temporary(bytes), to: storage)
            #expect(object.sha256 == nil)
            #expect(fake.operations == [.put, .put, .head, .put, .head])
            #expect(fake.stored == bytes)
        }
    }

    /// The evidence of a server for a whole object, for the bytes "123456789" and for others.
    enum Word: String, CaseIterable, Sendable {
        case sha256, crc32, crc64NVME, md5

        func fields(right: Bool) -> [String: String] {
            let tag = ["etag": "\"tag\""]
            switch self {
            case .sha256:
                let hex = SampleBytes.sha256((right ? "123456789" : "123456780").utf8)
                return tag.merging(["x-amz-checksum-sha256": Base64.text(hex: hex) ?? ""]) { $1 }
            // The check values of the catalogue of parametrised CRC algorithms.
            case .crc32: return tag.merging(["x-amz-checksum-crc32": base64(right ? "cbf43926" : "cbf43927")]) { $1 }
            case .crc64NVME:
                let value = base64(right ? "ae8b14860a799888" : "ae8b14860a799889")
                return tag.merging(["x-amz-checksum-crc64nvme": value]) { $1 }
            case .md5:
                return ["etag": right ? "\"25f9e794323b453885f5181f1b624d0b\"" : "\"25f9e794323b453885f5181f1b624d0c\""]
            }
        }

        private func base64(_ hex: String) -> String { Base64.text(hex: hex) ?? "" }
    }

    @Test(
        "Any matching checksum confirms an object, and a mismatch uploads it again",
        arguments: Word.allCases)
    func words(_ word: Word) async throws {
        for (right, isLarge) in [(true, false), (false, false), (true, true), (false, true)] {
            try await withFakeS3(Self.silent) {
                $0.multipartThreshold = isLarge ? 1 : .max
            } _: { fake, storage in
                var fields = word.fields(right: right)
                fields["x-amz-checksum-type"] = "FULL_OBJECT"
                let there = Array("123456789".utf8)
                fake.store(right ? there : Array("123456780".utf8), at: "folder/file", fields: fields)
                let source = try UploadSource.temporary(there)
                let object = try await storage.upload(source, to: .sample(), session: .init())
                #expect((object.sha256 == source.sha256) == right)
                #expect(fake.stored == there)
                let looks: [FakeS3.Operation] = isLarge ? [.head] : [.put, .head]
                #expect((fake.operations == looks) == right, "\(fake.operations)")
            }
        }
    }

    @Test("Tags over MD5s or checksums of the parts confirm an object in parts", arguments: [tagging, .strict])
    func inParts(_ provider: S3Provider) async throws {
        let bytes = SampleBytes.make((2 << 20) + 5)
        try await withFakeS3(provider) {
            $0.multipartThreshold = 1
        } _: { fake, storage in
            let source = try UploadSource.temporary(bytes)
            _ = try await storage.upload(source, to: .sample(), session: .init())
            fake.forgetOperations()
            let object = try await storage.upload(source, to: .sample(), session: .init())
            #expect(object.sha256 == source.sha256)
            #expect(fake.operations == [.head])
            // Another content with the same tag and metadata is a different object.
            let other = try UploadSource.temporary(SampleBytes.make((2 << 20) + 5, seed: 2))
            let replaced = try await storage.upload(other, to: .sample(), session: .init())
            #expect(replaced.sha256 == other.sha256)
            #expect(fake.stored == SampleBytes.make((2 << 20) + 5, seed: 2))
        }
    }
}
