import Foundation
import LFSStorage
import LFSTesting
import TestSupport
import Testing

@testable import LFSS3

/// A proxy, or the sign-in page of a network, that answers in the place of S3 with a page for people.
@Suite("A proxy that stands before S3", .timeLimit(.minutes(10)))
struct ProxyTests {
    private static let statuses = [200, 301, 302, 403, 404, 407, 503]

    /// What it answers: one kind of request, as one with rules for some verbs does, or all of them.
    enum Reach: CaseIterable { case one, all }

    private let bytes = SampleBytes.make(3 << 20)

    @Test("confirms nothing, whatever it is asked", arguments: FakeS3.Operation.allCases, Reach.allCases)
    func answers(_ operation: FakeS3.Operation, _ reach: Reach) async throws {
        for status in Self.statuses {
            try await withFakeS3 {
                if !FakeS3.basicOperations.contains(operation) { $0.multipartThreshold = 1 }
            } _: { fake, storage in
                let saved = SavedCheckpoint()
                try await prepare(operation, fake, storage, saved)
                let before = (fake.objects.mapValues(\.bytes), fake.uploads.count)
                let isThrough = FakeS3.Operation.part == operation || operation == .complete
                fake.fail(reach == .all ? nil : operation, times: .max) { try $0.refuse(.signIn(status)) }
                let error = try await failure { try await perform(operation, storage, saved) }
                // The other verbs are answered by S3, which contradicts the one.
                let isContradicted = operation == .head && reach == .one && status != 200
                // No waiting brings the password that a proxy asks for.
                #expect(error.isRetryable == (status != 407 || isContradicted), "\(status): \(error)")
                #expect(!error.isMissing, "\(status): \(error)")
                if status != 503, !isContradicted { #expect(error.isAboutStorage, "\(status): \(error)") }
                #expect(fake.objects.mapValues(\.bytes) == before.0, "\(status)")
                #expect(fake.uploads.count == before.1 + (isThrough && reach == .one ? 1 : 0), "\(status)")
                #expect(fake.uploads.isEmpty || saved.value?.uploadID != nil || operation == .uploads, "\(status)")
            }
        }
    }

    @Test("lets an upload go on where it was, once it is gone", arguments: [FakeS3.Operation.part, .parts, .complete])
    func goesOn(_ operation: FakeS3.Operation) async throws {
        for status in Self.statuses {
            try await withFakeS3 {
                $0.multipartThreshold = 1
            } _: { fake, storage in
                let saved = SavedCheckpoint()
                try await prepare(.parts, fake, storage, saved)
                fake.fail(operation) { try $0.refuse(.signIn(status)) }
                _ = try await failure { try await perform(.parts, storage, saved) }
                _ = try await perform(.parts, storage, saved)
                #expect(fake.stored == bytes, "\(status)")
                #expect(fake.count(.create) == 1, "\(status)")
                #expect(fake.uploads.isEmpty, "\(status)")
            }
        }
    }

    @Test("is told from the server's own 404, which a HEAD has to be asked again for") func absence() async throws {
        try await withFakeS3 { fake, storage in
            let error = try await failure { try await storage.head(.sample()) }
            #expect(error.isMissing)
            #expect(fake.operations == [.head, .get])
        }
    }

    @Test("is seen when its 404 to a HEAD is not what a GET is answered") func presence() async throws {
        try await withFakeS3 { fake, storage in
            fake.store([], at: "folder/file")
            fake.fail(.head, times: .max) { try $0.refuse(.signIn(404)) }
            let error = try await failure { try await storage.head(.sample()) }
            #expect(error.code == .serverError)
        }
    }

    @Test("is the only one to answer 200 to a deletion with a page or without a word of S3", arguments: [true, false])
    func deletionWith200(_ isPage: Bool) async throws {
        try await withFakeS3 { fake, storage in
            fake.fail(.delete) { try $0.refuse(FakeReply(200, [:], isPage ? Array("Deleted".utf8) : [])) }
            let error = try await failure { try await storage.perform(.delete) }
            #expect(error.code == .unreachable)
            fake.fail(.delete) { try $0.refuse(FakeReply(200, ["x-amz-request-id": "1"])) }
            try await storage.perform(.delete)
        }
    }

    @Test("is not meant by a 404 about the bucket, which confirms no deletion either") func bucket() async throws {
        try await withFakeS3 { fake, storage in
            for code in ["NoSuchBucket", "Unheard"] {
                fake.fail(.delete) { try $0.refuse(.error(404, code)) }
                let error = try await failure { try await storage.perform(.delete) }
                #expect(error.code == (code == "Unheard" ? .serverError : .misconfigured))
            }
        }
    }

    private func prepare(
        _ operation: FakeS3.Operation, _ fake: FakeS3, _ storage: S3Storage, _ saved: SavedCheckpoint
    ) async throws {
        switch operation {
        case .put, .create, .part, .complete: break
        case .parts, .abort, .uploads:
            fake.fail(.part, after: 2) { try $0.refuse(.error(500, "InternalError")) }
            _ = try await failure { try await perform(.parts, storage, saved) }
        default: fake.store([1, 2, 3], at: "folder/file")
        }
    }

    private func perform(
        _ operation: FakeS3.Operation, _ storage: S3Storage, _ saved: SavedCheckpoint
    ) async throws {
        switch operation {
        case .create, .part, .complete, .parts:
            _ = try await storage.upload(.temporary(bytes), to: .sample(), session: saved.session)
        case .abort: try await storage.delete(.sample(), abandoning: saved.last)
        case .uploads: try await storage.abandonUploads(below: "folder", olderThan: .zero)
        default: try await storage.perform(operation)
        }
    }
}

extension FakeReply {
    /// A page that its writer serves as a file, with a tag.
    fileprivate static func signIn(_ status: Int) -> FakeReply {
        var reply = page(status)
        reply.headers["ETag"] = "\"5f3a-600\""
        reply.headers["Location"] = "http://login.example/"
        // A content delivery network marks what it answers by itself, too.
        reply.headers["X-Amz-Cf-Id"] = "kVY0fA=="
        return reply
    }
}
