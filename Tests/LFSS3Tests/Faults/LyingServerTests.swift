import Foundation
import LFSHTTPStorage
import LFSStorage
import LFSTesting
import TestSupport
import Testing

@testable import LFSS3

@Suite("A server that stores other bytes and says 200", .timeLimit(.minutes(10)))
struct LyingServerTests {
    private let bytes = SampleBytes.make(100_000)

    /// What the server does to a body before it stores it.
    enum Lie: String, CaseIterable, Sendable {
        case drops, flips

        func applied(to bytes: [UInt8]) -> [UInt8] {
            var bytes = bytes
            if self == .drops { bytes.removeLast(1_000) } else { bytes[bytes.count / 2] ^= 1 }
            return bytes
        }
    }

    @Test("is found out by its checksum", arguments: Lie.allCases)
    func byChecksum(_ lie: Lie) async throws {
        try await withFakeS3 { fake, storage in
            fake.fail(.put) { try store(lie, $0) }
            let error = try await failure {
                try await storage.upload(.temporary(bytes), to: .sample(), session: .init())
            }
            #expect(error.code == .integrity)
            #expect(error.isRetryable)
            #expect(fake.operations == [.put])
        }
    }

    @Test("is found out by an entity tag that has to be the MD5, or by the object's size", arguments: Lie.allCases)
    func byEntityTag(_ lie: Lie) async throws {
        try await withFakeS3(.plain) { fake, storage in
            fake.fail(.put) { try store(lie, $0) }
            let error = try await failure {
                try await storage.upload(.temporary(bytes), to: .sample(), session: .init())
            }
            #expect(error.code == .integrity)
            #expect(error.isRetryable)
            #expect(fake.operations == [.put] || fake.operations == [.put, .head])
        }
    }

    @Test("is found out by the object's size where nothing is known of its entity tags") func bySize() async throws {
        try await withFakeS3(.other) { fake, storage in
            fake.fail(.put) { try store(.drops, $0) }
            let error = try await failure {
                try await storage.upload(.temporary(bytes), to: .sample(), session: .init())
            }
            #expect(error.code == .integrity)
            #expect(fake.operations == [.put, .head])
        }
    }

    @Test("of a part loses that upload, and the next try is whole", arguments: [S3Provider.strict, .plain])
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

    @Test("of the whole is found out by the checksum over the parts") func whole() async throws {
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

    /// Stores the lie, with the metadata and the proofs of an honest server for it.
    private func store(_ lie: Lie, _ exchange: FakeExchange) throws {
        let body = lie.applied(to: try exchange.connection.readBody(of: exchange.request))
        let sha256 = SampleBytes.sha256(body)
        var proof = ["etag": "\"\(sha256.prefix(32))\""]
        if exchange.fake.tellsChecksums { proof["x-amz-checksum-sha256"] = Base64.text(hex: sha256) }
        exchange.fake.store(
            body, at: String(exchange.path.dropFirst()), fields: exchange.objectFields.merging(proof) { $1 })
        try exchange.send(FakeReply(200, proof))
    }
}

@Suite("Local bytes that are not the recorded ones", .timeLimit(.minutes(10)))
struct RottenSourceTests {
    private let recorded = SampleBytes.sha256([1])

    @Test("are not stored with one request", arguments: [S3Provider.strict, .plain, .other])
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

    @Test("are not stored in parts, and no part of them stays", arguments: [S3Provider.strict, .plain, .other])
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
            // The server may get to a part late whose connection was cut when the upload was given up.
            #expect(fake.operations.filter { $0 != .part }.suffix(2) == [.abort, .parts])
            #expect(fake.stored == nil)
            #expect(fake.uploads.isEmpty)
            #expect(saved.value?.uploadID == nil)
        }
    }
}
