import Foundation
import LFSStorage
import LFSTesting
import TestSupport
import Testing

@testable import LFSS3

@Suite("Malformed replies", .timeLimit(.minutes(10)))
struct BrokenReplyTests {
    private let bytes = SampleBytes.make(3 << 20)

    /// Cuts a reply at tenths of its length. The announced length matches, so only the XML shows the cut.
    private func cut(_ exchange: FakeExchange, tenths: Int) throws {
        var reply = try exchange.act()
        reply.body = Array(reply.body.prefix(reply.body.count * tenths / 10))
        try exchange.send(reply)
    }

    @Test("A listing with cut XML is a retryable error", arguments: [0, 1, 5, 8, 9])
    func listing(_ tenths: Int) async throws {
        try await withFakeS3 { fake, storage in
            fake.store([1], at: "a")
            fake.fail(.list) { try cut($0, tenths: tenths) }
            let error = try await failure { try await storage.list(ListRequest(prefix: "")) }
            #expect(error.code == .serverError)
            #expect(error.isRetryable)
            #expect(fake.operations == [.list])
        }
    }

    @Test("Cut XML begins no upload, and the next attempt aborts the begun one", arguments: [0, 1, 5, 8, 9])
    func beginning(_ tenths: Int) async throws {
        try await withFakeS3 {
            $0.multipartThreshold = 1
        } _: { fake, storage in
            fake.fail(.create) { try cut($0, tenths: tenths) }
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

    @Test("Cut XML of an upload's parts is a retryable error", arguments: [0, 1, 5, 8, 9])
    func parts(_ tenths: Int) async throws {
        try await withFakeS3 {
            $0.multipartThreshold = 1
        } _: { fake, storage in
            let saved = SavedCheckpoint()
            let source = try UploadSource.temporary(bytes)
            try await interrupt(fake, storage: storage, source: source, saved: saved)
            fake.fail(.parts) { try cut($0, tenths: tenths) }
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

    @Test("Cut XML is not a completion, and the next attempt finds the object", arguments: [0, 1, 5, 8, 9])
    func completion(_ tenths: Int) async throws {
        try await withFakeS3 {
            $0.multipartThreshold = 1
        } _: { fake, storage in
            fake.fail(.complete) { try cut($0, tenths: tenths) }
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

    @Test("An HTML page is an error regardless of its status", arguments: FakeS3.basicOperations, [200, 502])
    func page(_ operation: FakeS3.Operation, status: Int) async throws {
        try await withFakeS3 { fake, storage in
            fake.fail(operation) { try $0.refuse(.page(status)) }
            let error = try await failure { try await storage.perform(operation) }
            #expect(error.code == (status == 200 ? .unreachable : .serverError), "\(error)")
            #expect(error.isRetryable)
            #expect(fake.operations == [operation])
        }
    }

    @Test(
        "An HTML page does not count as a step of an upload in parts",
        arguments: [FakeS3.Operation.create, .part, .complete, .uploads], [200, 502])
    func pageInParts(_ operation: FakeS3.Operation, status: Int) async throws {
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

    @Test("An HTML page does not count as an abort of an upload", arguments: [200, 502])
    func pageForAbort(_ status: Int) async throws {
        try await withFakeS3 {
            $0.multipartThreshold = 1
        } _: { fake, storage in
            let saved = SavedCheckpoint()
            try await interrupt(fake, storage: storage, source: .temporary(bytes), saved: saved)
            fake.fail(.abort, times: 3) { try $0.refuse(.page(status)) }
            let error = try await failure { try await storage.delete(.sample(), abandoning: saved.last) }
            #expect(error.code == (status == 200 ? .unreachable : .serverError))
            #expect(fake.uploads.count == 1)
            #expect(fake.count(.delete) == 0)
        }
    }

    /// Leaves an upload with two of its three parts.
    private func interrupt(
        _ fake: FakeS3, storage: S3Storage, source: UploadSource, saved: SavedCheckpoint
    ) async throws {
        fake.fail(.part, after: 2) { try $0.refuse(.error(500, code: "InternalError")) }
        _ = try await failure { try await storage.upload(source, to: .sample(), session: saved.session) }
        #expect(saved.value?.parts.count == 2)
        fake.forgetOperations()
    }
}
