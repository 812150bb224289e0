import Foundation
import LFSHTTPStorage
import LFSStorage
import LFSTesting
import TestSupport
import Testing

@testable import LFSS3

@Suite("The completion of an upload in parts", .timeLimit(.minutes(10)))
struct CompletionTests {
    private static let start: [FakeS3.Operation] = [.head, .uploads, .create, .part, .part, .part, .complete]
    private let bytes = SampleBytes.make(3 << 20)

    /// Uploads with a fault at the completion; `check` sees the error of the first try, and its checkpoint.
    private func withFault(
        next operations: [FakeS3.Operation], _ fault: @escaping FakeS3.Fault,
        _ check: (FakeS3, StorageError, SavedCheckpoint) throws -> Void
    ) async throws {
        try await withFakeS3 {
            $0.multipartThreshold = 1
        } _: { fake, storage in
            fake.fail(.complete, fault)
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
        "may fail with the status 200, and the next try goes on",
        arguments: [("InternalError", StorageError.Code.serverError), ("SlowDown", .throttled)])
    func errorInside(_ code: String, _ expected: StorageError.Code) async throws {
        try await withFault(next: [.parts, .complete]) {
            try $0.refuse(.error(200, code))
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

    @Test("that is refused for good with the status 200 is no success") func deniedInside() async throws {
        try await withFault(next: [.parts, .complete]) {
            try $0.refuse(.error(200, "AccessDenied"))
        } _: { fake, error, _ in
            #expect(error.code == .forbidden)
            #expect(!error.isRetryable)
            #expect(fake.operations == Self.start)
        }
    }

    @Test("of an upload that was completed already is a success", arguments: [200, 404])
    func again(_ status: Int) async throws {
        try await withFakeS3 {
            $0.multipartThreshold = 1
        } _: { fake, storage in
            fake.fail(.complete) { exchange in
                _ = try exchange.act()
                try exchange.send(.error(status, "NoSuchUpload"))
            }
            let source = try UploadSource.temporary(bytes)
            let object = try await storage.upload(source, to: .sample(), session: .init())
            #expect(object.sha256 == source.sha256)
            #expect(fake.operations == Self.start + [.head])
        }
    }

    @Test("of an upload that is gone is forgotten, and the next try begins anew", arguments: [200, 404])
    func gone(_ status: Int) async throws {
        try await withFault(next: Self.start) {
            $0.fake.forgetUploads()
            try $0.refuse(.error(status, "NoSuchUpload"))
        } _: { fake, error, saved in
            #expect(error.code == .serverError)
            #expect(error.isRetryable)
            #expect(fake.operations == Self.start + [.head])
            #expect(saved.last != nil)
            #expect(saved.value?.uploadID == nil)
        }
    }

    /// The kept connection broke before a reply, so libcurl itself may ask once more.
    @Test("whose answer was lost is found by the next try, which sends no part again") func lostReply() async throws {
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

    @Test("that ran into another one begins anew") func conflict() async throws {
        try await withFault(next: Self.start) {
            try $0.refuse(.error(409, "ConditionalRequestConflict"))
        } _: { fake, error, saved in
            #expect(error.code == .serverError)
            #expect(error.isRetryable)
            #expect(fake.operations == Self.start + [.abort, .parts])
            #expect(fake.uploads.isEmpty)
            #expect(saved.value?.uploadID == nil)
        }
    }

    @Test("that finds a part missing begins anew") func invalidPart() async throws {
        try await withFault(next: Self.start) {
            try $0.refuse(.error(400, "InvalidPart"))
        } _: { fake, error, saved in
            #expect(error.code == .integrity)
            #expect(error.isRetryable)
            #expect(fake.operations == Self.start + [.abort, .parts])
            #expect(saved.value?.uploadID == nil)
        }
    }

    @Test("finds the same content there: success, and the parts are given up") func sameIsThere() async throws {
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

    @Test("finds other content there and replaces it") func otherIsThere() async throws {
        try await withFakeS3 {
            $0.multipartThreshold = 1
        } _: { fake, storage in
            fake.store([1], at: "folder/file")
            _ = try await storage.upload(.temporary(bytes), to: .sample(), session: .init())
            #expect(fake.operations == Self.start + [.head, .complete])
            #expect(fake.stored == bytes)
        }
    }

    @Test("that finds an object with our own note of the content and other bytes replaces it") func noteIsThere()
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

    @Test("whose answer has the checksum of the whole is proven by it") func wholeChecksum() async throws {
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

    @Test("whose answer has no tag or an empty one is proven by the object", arguments: ["", "<ETag></ETag>"])
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

    @Test("of which the parts are then answered as a missing object is found by the next try") func missingKey()
        async throws
    {
        try await withFakeS3 {
            $0.multipartThreshold = 1
        } _: { fake, storage in
            fake.fail(.complete) { exchange in
                _ = try exchange.act()
                try exchange.send(.page(502))
            }
            fake.fail(.parts) { try $0.refuse(.error(404, "NoSuchKey")) }
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

    @Test("of an upload that is gone, answered as a missing object, begins anew") func missingKeyAtTheEnd() async throws
    {
        try await withFault(next: Self.start) {
            $0.fake.forgetUploads()
            try $0.refuse(.error(404, "NoSuchKey"))
        } _: { fake, error, saved in
            #expect(error.code == .serverError)
            #expect(error.isRetryable)
            #expect(fake.operations == Self.start + [.head])
            #expect(saved.value?.uploadID == nil)
        }
    }
}
