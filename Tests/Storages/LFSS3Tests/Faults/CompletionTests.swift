import Foundation
import LFSHTTPStorage
import LFSStorage
import LFSTesting
import TestSupport
import Testing

@testable import LFSS3

@Suite("Completion of an upload in parts", .timeLimit(.minutes(10)))
struct CompletionTests {
    private static let start: [FakeS3.Operation] = [.head, .uploads, .create, .part, .part, .part, .complete]
    private let bytes = SampleBytes.make(3 << 20)

    /// Uploads with a fault at the completion. The check receives the error and the checkpoint of the first attempt.
    private func withFault(
        next operations: [FakeS3.Operation], _ fault: @escaping FakeS3.Fault,
        _ check: (FakeS3, StorageError, SavedCheckpoint) throws -> Void
    ) async throws {
        try await withFakeS3 {
            $0.multipartThreshold = 1
        } _: { fake, storage in
            fake.fail(.complete, fault: fault)
            let saved = SavedCheckpoint()
            let source = try UploadSource.temporary(bytes)
            let error = try await failure { try await storage.upload(source, to: .sample(), session: saved.session) }
            try check(fake, error, saved)
            fake.forgetOperations()
            let object = try await storage.upload(source, to: .sample(), session: saved.session)
            #expect(object.sha256 == source.sha256)
            #expect(fake.operations == operations)
            #expect(fake.stored == bytes)
            #expect(fake.uploads.isEmpty)
        }
    }

    @Test(
        "A completion may fail with the status 200, and the next attempt resumes",
        arguments: [("InternalError", StorageError.Code.serverError), ("SlowDown", .throttled)])
    func errorInside(_ code: String, expected: StorageError.Code) async throws {
        try await withFault(next: [.parts, .complete]) {
            try $0.refuse(.error(200, code: code))
        } _: { fake, error, saved in
            #expect(error.code == expected)
            #expect(error.isRetryable)
            #expect(error.message.contains(code))
            #expect(fake.operations == Self.start)
            #expect(fake.uploads.count == 1)
            #expect(saved.value?.uploadID == "upload-1")
            #expect(saved.value?.parts.count == 3)
        }
    }

    @Test("A completion refused with the status 200 is an error") func deniedInside() async throws {
        try await withFault(next: [.parts, .complete]) {
            try $0.refuse(.error(200, code: "AccessDenied"))
        } _: { fake, error, _ in
            #expect(error.code == .forbidden)
            #expect(!error.isRetryable)
            #expect(fake.operations == Self.start)
        }
    }

    @Test("A completion of an already completed upload succeeds", arguments: [200, 404])
    func again(_ status: Int) async throws {
        try await withFakeS3 {
            $0.multipartThreshold = 1
        } _: { fake, storage in
            fake.fail(.complete) { exchange in
                _ = try exchange.act()
                try exchange.send(.error(status, code: "NoSuchUpload"))
            }
            let source = try UploadSource.temporary(bytes)
            let object = try await storage.upload(source, to: .sample(), session: .init())
            #expect(object.sha256 == source.sha256)
            #expect(fake.operations == Self.start + [.head])
        }
    }

    @Test("A completion of a missing upload discards it, and the next attempt restarts", arguments: [200, 404])
    func gone(_ status: Int) async throws {
        try await withFault(next: Self.start) {
            $0.fake.forgetUploads()
            try $0.refuse(.error(status, code: "NoSuchUpload"))
        } _: { fake, error, saved in
            #expect(error.code == .serverError)
            #expect(error.isRetryable)
            #expect(fake.operations == Self.start + [.head])
            #expect(saved.last != nil)
            #expect(saved.value?.uploadID == nil)
        }
    }

    /// The kept connection broke before a reply, so libcurl may repeat the request once.
    @Test("A completion whose reply was lost is found without resending parts") func lostReply() async throws {
        try await withFakeS3 {
            $0.multipartThreshold = 1
        } _: { fake, storage in
            fake.fail(.complete) { exchange in
                _ = try exchange.act()
                exchange.connection.reset()
            }
            fake.fail(.complete) { exchange in
                try exchange.connection.readBody(of: exchange.request)
                exchange.connection.reset()
            }
            let saved = SavedCheckpoint()
            let source = try UploadSource.temporary(bytes)
            let error = try await failure { try await storage.upload(source, to: .sample(), session: saved.session) }
            #expect(error.code == .serverError)
            #expect(error.isRetryable)
            #expect(fake.count(.complete) <= 2)
            #expect(fake.count(.part) == 3)
            fake.forgetOperations()
            _ = try await storage.upload(source, to: .sample(), session: saved.session)
            #expect(fake.operations == [.parts, .head])
            #expect(fake.stored == bytes)
        }
    }

    @Test("A completion that conflicts with another one restarts the upload") func conflict() async throws {
        try await withFault(next: Self.start) {
            try $0.refuse(.error(409, code: "ConditionalRequestConflict"))
        } _: { fake, error, saved in
            #expect(error.code == .serverError)
            #expect(error.isRetryable)
            #expect(fake.operations == Self.start + [.abort, .parts])
            #expect(fake.uploads.isEmpty)
            #expect(saved.value?.uploadID == nil)
        }
    }

    @Test("A completion with a missing part restarts the upload") func invalidPart() async throws {
        try await withFault(next: Self.start) {
            try $0.refuse(.error(400, code: "InvalidPart"))
        } _: { fake, error, saved in
            #expect(error.code == .integrity)
            #expect(error.isRetryable)
            #expect(fake.operations == Self.start + [.abort, .parts])
            #expect(saved.value?.uploadID == nil)
        }
    }

    @Test("A completion that finds the same content succeeds and aborts the parts") func sameIsThere() async throws {
        try await withFakeS3 {
            $0.multipartThreshold = 1
        } _: { fake, storage in
            let source = try UploadSource.temporary(bytes)
            fake.fail(.complete) { exchange in
                let fields = ["etag": "\"other\"", "x-amz-checksum-sha256": Base64.text(hex: source.sha256) ?? ""]
                exchange.fake.store(bytes, at: "folder/file", fields: fields)
                try exchange.send(exchange.act())
            }
            _ = try await storage.upload(source, to: .sample(), session: .init())
            #expect(fake.operations == Self.start + [.head, .abort, .parts])
            #expect(fake.uploads.isEmpty)
        }
    }

    @Test("A completion that finds other content replaces it") func otherIsThere() async throws {
        try await withFakeS3 {
            $0.multipartThreshold = 1
        } _: { fake, storage in
            fake.store([1], at: "folder/file")
            _ = try await storage.upload(.temporary(bytes), to: .sample(), session: .init())
            #expect(fake.operations == Self.start + [.head, .complete])
            #expect(fake.stored == bytes)
        }
    }

    @Test("A completion that finds matching metadata but other bytes replaces the object") func noteIsThere()
        async throws
    {
        try await withFakeS3 {
            $0.multipartThreshold = 1
        } _: { fake, storage in
            let source = try UploadSource.temporary(bytes)
            var rotten = bytes
            rotten[7] ^= 1
            let other = rotten
            fake.fail(.complete) { exchange in
                let fields = ["etag": "\"other\"", "x-amz-meta-lfs-sha256": source.sha256]
                exchange.fake.store(other, at: "folder/file", fields: fields)
                try exchange.send(exchange.act())
            }
            _ = try await storage.upload(source, to: .sample(), session: .init())
            #expect(fake.operations == Self.start + [.head, .complete])
            #expect(fake.stored == bytes)
        }
    }

    @Test("A completion with the checksum of the whole object proves it") func wholeChecksum() async throws {
        try await withFakeS3 {
            $0.multipartThreshold = 1
        } _: { fake, storage in
            fake.fail(.complete) { exchange in
                _ = try exchange.act()
                let checksum = Base64.text(hex: SampleBytes.sha256(bytes)) ?? ""
                try exchange.send(.completed(sha256: checksum))
            }
            let object = try await storage.upload(.temporary(bytes), to: .sample(), session: .init())
            #expect(object.sha256 == SampleBytes.sha256(bytes))
            #expect(fake.operations == Self.start)
        }
    }

    @Test("A completion without an entity tag is proven by the object", arguments: ["", "<ETag></ETag>"])
    func withoutTag(_ tag: String) async throws {
        for provider in [S3Provider.strict, .plain] {
            try await withFakeS3(provider) {
                $0.multipartThreshold = 1
            } _: { fake, storage in
                fake.fail(.complete) { exchange in
                    _ = try exchange.act()
                    try exchange.send(
                        .xml("<CompleteMultipartUploadResult>\(tag)</CompleteMultipartUploadResult>"))
                }
                let source = try UploadSource.temporary(bytes)
                let object = try await storage.upload(source, to: .sample(), session: .init())
                #expect(object.sha256 == source.sha256)
                #expect(fake.operations == Self.start + [.head])
                #expect(fake.stored == bytes)
            }
        }
    }

    @Test("A completed upload is found although its parts are reported as a missing key") func missingKey()
        async throws
    {
        try await withFakeS3 {
            $0.multipartThreshold = 1
        } _: { fake, storage in
            fake.fail(.complete) { exchange in
                _ = try exchange.act()
                try exchange.send(.page(502))
            }
            fake.fail(.parts) { try $0.refuse(.error(404, code: "NoSuchKey")) }
            let saved = SavedCheckpoint()
            let source = try UploadSource.temporary(bytes)
            let error = try await failure { try await storage.upload(source, to: .sample(), session: saved.session) }
            #expect(error.isRetryable)
            fake.forgetOperations()
            let object = try await storage.upload(source, to: .sample(), session: saved.session)
            #expect(object.sha256 == source.sha256)
            #expect(fake.operations == [.parts, .head])
            #expect(fake.stored == bytes)
        }
    }

    @Test(
        "A completion of a missing upload reported as a missing key restarts it") func missingKeyAtTheEnd() async throws
    {
        try await withFault(next: Self.start) {
            $0.fake.forgetUploads()
            try $0.refuse(.error(404, code: "NoSuchKey"))
        } _: { fake, error, saved in
            #expect(error.code == .serverError)
            #expect(error.isRetryable)
            #expect(fake.operations == Self.start + [.head])
            #expect(saved.value?.uploadID == nil)
        }
    }
}
