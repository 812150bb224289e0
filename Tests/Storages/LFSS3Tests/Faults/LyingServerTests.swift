import Foundation
import LFSHTTPStorage
import LFSStorage
import LFSTesting
import TestSupport
import Testing

@testable import LFSS3

@Suite("Servers that store wrong bytes", .timeLimit(.minutes(10)))
struct LyingServerTests {
    private let bytes = SampleBytes.make(100_000)

    /// The change that the server makes to a body before storing it.
    enum Lie: String, CaseIterable, Sendable {
        case drops, flips

        func applied(to bytes: [UInt8]) -> [UInt8] {
            var bytes = bytes
            if self == .drops { bytes.removeLast(1_000) } else { bytes[bytes.count / 2] ^= 1 }
            return bytes
        }
    }

    @Test("A wrongly stored object is detected by its checksum", arguments: Lie.allCases)
    func byChecksum(_ lie: Lie) async throws {
        try await withFakeS3 { fake, storage in
            fake.fail(.put) { try store(lie, exchange: $0) }
            let error = try await failure {
                try await storage.upload(.temporary(bytes), to: .sample(), session: .init())
            }
            #expect(error.code == .integrity)
            #expect(error.isRetryable)
            #expect(fake.operations == [.put])
        }
    }

    @Test("A wrongly stored object is detected by its MD5 entity tag or its size", arguments: Lie.allCases)
    func byEntityTag(_ lie: Lie) async throws {
        try await withFakeS3(.plain) { fake, storage in
            fake.fail(.put) { try store(lie, exchange: $0) }
            let error = try await failure {
                try await storage.upload(.temporary(bytes), to: .sample(), session: .init())
            }
            #expect(error.code == .integrity)
            #expect(error.isRetryable)
            #expect(fake.operations == [.put] || fake.operations == [.put, .head])
        }
    }

    @Test("A wrongly stored object is detected by its size if entity tags are unknown") func bySize() async throws {
        try await withFakeS3(.other) { fake, storage in
            fake.fail(.put) { try store(.drops, exchange: $0) }
            let error = try await failure {
                try await storage.upload(.temporary(bytes), to: .sample(), session: .init())
            }
            #expect(error.code == .integrity)
            #expect(fake.operations == [.put, .head])
        }
    }

    @Test("A wrongly stored part discards the upload, and a retry succeeds", arguments: [S3Provider.strict, .plain])
    func part(_ provider: S3Provider) async throws {
        let bytes = SampleBytes.make(3 << 20)
        try await withFakeS3(provider) {
            $0.multipartThreshold = 1
        } _: { fake, storage in
            fake.fail(.part, after: 1) { exchange in
                var reply = try exchange.act()
                reply.headers["etag"] = "\"00000000000000000000000000000000\""
                if reply.headers["x-amz-checksum-sha256"] != nil {
                    reply.headers["x-amz-checksum-sha256"] = Base64.text(hex: SampleBytes.sha256([1]))
                }
                try exchange.send(reply)
            }
            let saved = SavedCheckpoint()
            let source = try UploadSource.temporary(bytes)
            let error = try await failure { try await storage.upload(source, to: .sample(), session: saved.session) }
            #expect(error.code == .integrity)
            #expect(error.isRetryable)
            #expect(fake.operations == [.head, .uploads, .create, .part, .part, .abort, .parts])
            #expect(fake.uploads.isEmpty)
            #expect(saved.value?.uploadID == nil)
            _ = try await storage.upload(source, to: .sample(), session: saved.session)
            #expect(fake.stored == bytes)
        }
    }

    @Test("A wrongly joined object is detected by the checksum over its parts") func whole() async throws {
        try await withFakeS3 {
            $0.multipartThreshold = 1
        } _: { fake, storage in
            fake.fail(.complete) { exchange in
                _ = try exchange.act()
                let checksum = Base64.text(hex: SampleBytes.sha256([1])) ?? ""
                try exchange.send(.completed(sha256: "\(checksum)-1"))
            }
            let error = try await failure {
                try await storage.upload(.temporary(bytes), to: .sample(), session: .init())
            }
            #expect(error.code == .integrity)
        }
    }

    /// Stores changed bytes with metadata and checksums that match them.
    private func store(_ lie: Lie, exchange: FakeExchange) throws {
        let body = lie.applied(to: try exchange.connection.readBody(of: exchange.request))
        let sha256 = SampleBytes.sha256(body)
        var proof = ["etag": "\"\(sha256.prefix(32))\""]
        if exchange.fake.tellsChecksums { proof["x-amz-checksum-sha256"] = Base64.text(hex: sha256) }
        exchange.fake.store(
            body, at: String(exchange.path.dropFirst()), fields: exchange.objectFields.merging(proof) { $1 })
        try exchange.send(FakeReply(200, headers: proof))
    }
}

@Suite("Changed local bytes", .timeLimit(.minutes(10)))
struct RottenSourceTests {
    private let recorded = SampleBytes.sha256([1])

    @Test("Changed local bytes are not stored by a single request", arguments: [S3Provider.strict, .plain, .other])
    func single(_ provider: S3Provider) async throws {
        try await withFakeS3(provider) { fake, storage in
            let source = try UploadSource.temporary(SampleBytes.make(100_000), sha256: recorded)
            let error = try await failure { try await storage.upload(source, to: .sample(), session: .init()) }
            #expect(error.code == .sourceChanged)
            #expect(!error.isRetryable)
            #expect(fake.operations == (provider == .strict ? [.put] : []))
            #expect(fake.stored == nil)
        }
    }

    @Test("Changed local bytes are not stored in parts", arguments: [S3Provider.strict, .plain, .other])
    func inParts(_ provider: S3Provider) async throws {
        try await withFakeS3(provider) {
            $0.multipartThreshold = 1
        } _: { fake, storage in
            let saved = SavedCheckpoint()
            let source = try UploadSource.temporary(SampleBytes.make(3 << 20), sha256: recorded)
            let error = try await failure { try await storage.upload(source, to: .sample(), session: saved.session) }
            #expect(error.code == .sourceChanged)
            #expect(!error.isRetryable)
            #expect(fake.count(.complete) == 0)
            // The server may process a part late after its connection was closed.
            #expect(fake.operations.filter { $0 != .part }.suffix(2) == [.abort, .parts])
            #expect(fake.stored == nil)
            #expect(fake.uploads.isEmpty)
            #expect(saved.value?.uploadID == nil)
        }
    }
}
