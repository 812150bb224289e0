import Foundation
import LFSHTTPStorage
import LFSStorage
import LFSTesting
import TestSupport
import Testing

@testable import LFSS3

@Suite("A server that asks for fewer requests", .timeLimit(.minutes(10)))
struct ThrottlingTests {
    /// The time that the storage goes by. RFC 9110 has a date of its own for examples.
    private let clock = SigningClock { Date(timeIntervalSince1970: 784_111_777) }

    @Test(
        "is not asked again before it says, in seconds or by a date",
        arguments: [
            ("7", Duration.seconds(7)), ("Sun, 06 Nov 1994 08:51:07 GMT", .seconds(90)), ("99999999", .seconds(86_400)),
            ("Sun, 06 Nov 1994 08:40:00 GMT", nil), ("-5", nil), ("later", nil),
        ])
    func slowDown(_ field: String, _ wait: Duration?) async throws {
        try await withFakeS3(clock: clock) { fake, storage in
            fake.fail(.put, times: .max) { try $0.refuse(.error(503, "SlowDown", ["Retry-After": field])) }
            let error = try await failure {
                try await storage.upload(.temporary([1, 2]), to: .sample(), session: .init())
            }
            #expect(error.code == .throttled)
            #expect(error.isRetryable)
            #expect(error.retryAfter == wait)
            #expect(fake.operations == [.put])
        }
    }

    @Test("by a status alone is understood as well") func tooManyRequests() async throws {
        try await withFakeS3 { fake, storage in
            fake.fail(nil, times: .max) { try $0.refuse(FakeReply(429, ["Retry-After": "3"])) }
            for operation in FakeS3.basicOperations {
                fake.forgetOperations()
                let error = try await failure { try await storage.perform(operation) }
                #expect(error.code == .throttled, "\(operation): \(error)")
                #expect(error.retryAfter == .seconds(3))
                #expect(fake.operations == [operation])
            }
        }
    }

    @Test("in the middle of an upload in parts keeps the upload") func inParts() async throws {
        let bytes = SampleBytes.make(3 << 20)
        try await withFakeS3 {
            $0.multipartThreshold = 1
        } _: { fake, storage in
            fake.fail(.part, after: 1) { try $0.refuse(.error(503, "SlowDown", ["Retry-After": "7"])) }
            let saved = SavedCheckpoint()
            let source = try UploadSource.temporary(bytes)
            let error = try await failure { try await storage.upload(source, to: .sample(), session: saved.session) }
            #expect(error.code == .throttled)
            #expect(error.retryAfter == .seconds(7))
            #expect(fake.operations == [.head, .uploads, .create, .part, .part])
            fake.forgetOperations()
            _ = try await storage.upload(source, to: .sample(), session: saved.session)
            #expect(fake.operations == [.parts, .part, .part, .complete])
            #expect(fake.stored == bytes)
        }
    }
}

extension FakeS3 {
    /// Those that take one request.
    static let basicOperations: [Operation] = [.put, .get, .head, .delete, .list]
}

extension S3Storage {
    /// Does what takes one request of a kind.
    func perform(_ operation: FakeS3.Operation) async throws {
        let key = try ObjectKey.sample()
        switch operation {
        case .put: _ = try await upload(.temporary([1, 2, 3]), to: key, session: .init())
        case .get: _ = try await download(DownloadRequest(key), into: DownloadSink { _ in })
        case .head: _ = try await head(key)
        case .delete: try await delete(key, abandoning: nil)
        case .list: _ = try await list(ListRequest(prefix: ""))
        default: throw StorageError(.invalidRequest, "not one request")
        }
    }
}
