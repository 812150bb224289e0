import Foundation
import LFSHTTPStorage
import LFSStorage
import LFSTesting
import TestSupport
import Testing

@testable import LFSS3

@Suite("Throttling", .timeLimit(.minutes(10)))
struct ThrottlingTests {
    /// The clock of the storage, set to an example date of RFC 9110.
    private let clock = SigningClock { Date(timeIntervalSince1970: 784_111_777) }

    @Test(
        "Retry-After in seconds or as a date sets the retry delay",
        arguments: [
            ("7", Duration.seconds(7)), ("Sun, 06 Nov 1994 08:51:07 GMT", .seconds(90)), ("99999999", .seconds(86_400)),
            ("Sun, 06 Nov 1994 08:40:00 GMT", nil), ("-5", nil), ("later", nil),
        ])
    func slowDown(_ field: String, wait: Duration?) async throws {
        try await withFakeS3(clock: clock) { fake, storage in
            fake.fail(.put, times: .max) {
                try $0.refuse(.error(503, code: "SlowDown", headers: ["Retry-After": field]))
            }
            let error = try await failure {
                try await storage.upload(.temporary([1, 2]), to: .sample(), session: .init())
            }
            #expect(error.code == .throttled)
            #expect(error.isRetryable)
            #expect(error.retryAfter == wait)
            #expect(fake.operations == [.put])
        }
    }

    @Test("A status 429 without a body counts as throttling") func tooManyRequests() async throws {
        try await withFakeS3 { fake, storage in
            fake.fail(nil, times: .max) { try $0.refuse(FakeReply(429, headers: ["Retry-After": "3"])) }
            for operation in FakeS3.basicOperations {
                fake.forgetOperations()
                let error = try await failure { try await storage.perform(operation) }
                #expect(error.code == .throttled, "\(operation): \(error)")
                #expect(error.retryAfter == .seconds(3))
                #expect(fake.operations == [operation])
            }
        }
    }

    @Test("Throttling during an upload in parts keeps the upload") func inParts() async throws {
        let bytes = SampleBytes.make(3 << 20)
        try await withFakeS3 {
            $0.multipartThreshold = 1
        } _: { fake, storage in
            fake.fail(.part, after: 1) { try $0.refuse(.error(503, code: "SlowDown", headers: ["Retry-After": "7"])) }
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
    /// The operations that take one request.
    static let basicOperations: [Operation] = [.put, .get, .head, .delete, .list]
}

extension S3Storage {
    /// Runs an operation that takes one request.
    func perform(_ operation: FakeS3.Operation) async throws {
        let key = try ObjectKey.sample()
        switch operation {
        case .put: _ = try await upload(.temporary([1, 2, 3]), to: key, session: .init())
        case .get: _ = try await download(DownloadRequest(key), into: DownloadSink { _ in })
        case .head: _ = try await head(key)
        case .delete: try await delete(key, abandoning: nil)
        case .list: _ = try await list(ListRequest(prefix: ""))
        default: throw StorageError(.invalidRequest, message: "not one request")
        }
    }
}
