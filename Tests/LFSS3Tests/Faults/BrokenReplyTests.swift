import Foundation
import LFSStorage
import LFSTesting
import TestSupport
import Testing

@testable import LFSS3

@Suite("A reply that is not what it should be", .timeLimit(.minutes(10)))
struct BrokenReplyTests {
    private let bytes = SampleBytes.make(3 << 20)

    /// Cuts a reply at tenths of its length. The length that it announces is the cut one's, so only the XML can tell.
    private func cut(_ exchange: FakeExchange, _ tenths: Int) throws {
        var reply = try exchange.act()
        reply.body = Array(reply.body.prefix(reply.body.count * tenths / 10))
        try exchange.send(reply)
    }

    @Test("but cut XML is no listing", arguments: [0, 1, 5, 8, 9])
    func listing(_ tenths: Int) async throws {
        try await withFakeS3 { fake, storage in
            fake.store([1], at: "a")
            fake.fail(.list) { try cut($0, tenths) }
            let error = try await failure { try await storage.list(ListRequest(prefix: "")) }
            #expect(error.code == .serverError)
            #expect(error.isRetryable)
            #expect(fake.operations == [.list])
        }
    }

    @Test("but cut XML begins no upload, and the next try gives up what was begun", arguments: [0, 1, 5, 8, 9])
    func beginning(_ tenths: Int) async throws {
        try await withFakeS3 {
            $0.multipartThreshold = 1
        } _: { fake, storage in
            fake.fail(.create) { try cut($0, tenths) }
            let saved = SavedCheckpoint()
            let source = try UploadSource.temporary(bytes)
            let error = try await failure { try await storage.upload(source, to: .sample(), session: saved.session) }
            #expect(error.code == .serverError)
            #expect(fake.operations == [.head, .uploads, .create])
            #expect(saved.last == nil)
            #expect(fake.uploads.count == 1)

            fake.forgetOperations()
            _ = try await storage.upload(source, to: .sample(), session: saved.session)
            let begin: [FakeS3.Operation] = [.head, .uploads, .abort, .parts, .create]
            #expect(fake.operations == begin + [.part, .part, .part, .complete])
            #expect(fake.stored == bytes)
            #expect(fake.uploads.isEmpty)
        }
    }

    @Test("but cut XML says nothing of an upload's parts", arguments: [0, 1, 5, 8, 9])
    func parts(_ tenths: Int) async throws {
        try await withFakeS3 {
            $0.multipartThreshold = 1
        } _: { fake, storage in
            let saved = SavedCheckpoint()
            let source = try UploadSource.temporary(bytes)
            try await interrupt(fake, storage, source, saved)
            fake.fail(.parts) { try cut($0, tenths) }
            let error = try await failure { try await storage.upload(source, to: .sample(), session: saved.session) }
            #expect(error.code == .serverError)
            #expect(fake.operations == [.parts])
            #expect(fake.uploads.count == 1)
            fake.forgetOperations()
            _ = try await storage.upload(source, to: .sample(), session: saved.session)
            #expect(fake.operations == [.parts, .part, .complete])
            #expect(fake.stored == bytes)
        }
    }

    @Test("but cut XML is no completion; the next try finds the object", arguments: [0, 1, 5, 8, 9])
    func completion(_ tenths: Int) async throws {
        try await withFakeS3 {
            $0.multipartThreshold = 1
        } _: { fake, storage in
            fake.fail(.complete) { try cut($0, tenths) }
            let saved = SavedCheckpoint()
            let source = try UploadSource.temporary(bytes)
            let error = try await failure { try await storage.upload(source, to: .sample(), session: saved.session) }
            #expect(error.code == .serverError)
            #expect(fake.operations == [.head, .uploads, .create, .part, .part, .part, .complete])
            fake.forgetOperations()
            _ = try await storage.upload(source, to: .sample(), session: saved.session)
            #expect(fake.operations == [.parts, .head])
            #expect(fake.stored == bytes)
        }
    }

    @Test(
        "but a page for people is an error, whatever its status", arguments: FakeS3.basicOperations, [200, 502])
    func page(_ operation: FakeS3.Operation, _ status: Int) async throws {
        try await withFakeS3 { fake, storage in
            fake.fail(operation) { try $0.refuse(.page(status)) }
            let error = try await failure { try await storage.perform(operation) }
            #expect(error.code == (status == 200 ? .unreachable : .serverError), "\(error)")
            #expect(error.isRetryable)
            #expect(fake.operations == [operation])
        }
    }

    @Test(
        "but a page for people is no step of an upload in parts",
        arguments: [FakeS3.Operation.create, .part, .complete, .uploads], [200, 502])
    func pageInParts(_ operation: FakeS3.Operation, _ status: Int) async throws {
        try await withFakeS3 {
            $0.multipartThreshold = 1
            $0.maxConcurrentParts = 1
        } _: { fake, storage in
            fake.fail(operation) { try $0.refuse(.page(status)) }
            let saved = SavedCheckpoint()
            let source = try UploadSource.temporary(bytes)
            let error = try await failure { try await storage.upload(source, to: .sample(), session: saved.session) }
            #expect(error.code == (status == 200 ? .unreachable : .serverError), "\(error)")
            #expect(fake.operations.last == operation)
            #expect(fake.count(operation) == 1)
            #expect(fake.stored == nil)
            _ = try await storage.upload(source, to: .sample(), session: saved.session)
            #expect(fake.stored == bytes)
            #expect(fake.uploads.isEmpty)
        }
    }

    @Test("but a page for people gives up no upload", arguments: [200, 502])
    func pageForAbort(_ status: Int) async throws {
        try await withFakeS3 {
            $0.multipartThreshold = 1
        } _: { fake, storage in
            let saved = SavedCheckpoint()
            try await interrupt(fake, storage, .temporary(bytes), saved)
            fake.fail(.abort, times: 3) { try $0.refuse(.page(status)) }
            let error = try await failure { try await storage.delete(.sample(), abandoning: saved.last) }
            #expect(error.code == (status == 200 ? .unreachable : .serverError))
            #expect(fake.uploads.count == 1)
            #expect(fake.count(.delete) == 0)
        }
    }

    /// Leaves an upload with two of its three parts.
    private func interrupt(
        _ fake: FakeS3, _ storage: S3Storage, _ source: UploadSource, _ saved: SavedCheckpoint
    ) async throws {
        fake.fail(.part, after: 2) { try $0.refuse(.error(500, "InternalError")) }
        _ = try await failure { try await storage.upload(source, to: .sample(), session: saved.session) }
        #expect(saved.value?.parts.count == 2)
        fake.forgetOperations()
    }
}
