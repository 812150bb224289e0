import Foundation
import LFSStorage
import LFSTesting
import TestSupport
import Testing

@testable import LFSS3

@Suite("Uploads to an existing key", .timeLimit(.minutes(10)))
struct ConflictTests {
    private let bytes = SampleBytes.make(100_000)

    @Test("An upload over the same content succeeds") func same() async throws {
        try await withFakeS3 { fake, storage in
            let source = try UploadSource.temporary(bytes)
            _ = try await storage.upload(source, to: .sample(), session: .init())
            let object = try await storage.upload(source, to: .sample(), session: .init())
            #expect(object.sha256 == source.sha256)
            #expect(object.byteCount == source.byteCount)
            #expect(fake.operations == [.put, .put, .head])
        }
    }

    @Test("An upload replaces other content of the same size") func other() async throws {
        try await withFakeS3 { fake, storage in
            fake.store(SampleBytes.make(100_000, seed: 2), at: "folder/file")
            _ = try await storage.upload(.temporary(bytes), to: .sample(), session: .init())
            #expect(fake.operations == [.put, .head, .put])
            #expect(fake.requests.map { $0.headers["if-none-match"] } == ["*", nil, nil])
            #expect(fake.stored == bytes)
        }
    }

    @Test("An upload during another write fails with a retryable error") func conflict() async throws {
        try await withFakeS3 { fake, storage in
            fake.fail(.put) { try $0.refuse(.error(409, code: "ConditionalRequestConflict")) }
            let error = try await failure {
                try await storage.upload(.temporary(bytes), to: .sample(), session: .init())
            }
            #expect(error.code == .serverError)
            #expect(error.isRetryable)
            #expect(fake.operations == [.put])
        }
    }

    @Test("An upload in parts over the same content succeeds at once") func sameInParts() async throws {
        try await withFakeS3 {
            $0.multipartThreshold = 1
        } _: { fake, storage in
            let source = try UploadSource.temporary(bytes)
            _ = try await storage.upload(source, to: .sample(), session: .init())
            fake.forgetOperations()
            let object = try await storage.upload(source, to: .sample(), session: .init())
            #expect(object.sha256 == source.sha256)
            #expect(fake.operations == [.head])
        }
    }
}
