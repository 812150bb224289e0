import Foundation
import LFSStorage
import LFSTesting
import TestSupport
import Testing

@testable import LFSS3

/// A proxy or sign-in page that replies with an HTML page in place of S3.
@Suite("Proxies in front of S3", .timeLimit(.minutes(10)))
struct ProxyTests {
    private static let statuses = [200, 301, 302, 403, 404, 407, 503]

    /// The requests that the proxy answers: one kind, like a proxy with rules for some methods, or all of them.
    enum Reach: CaseIterable { case one, all }

    private let bytes = SampleBytes.make(3 << 20)

    @Test("A proxy's reply confirms no S3 operation", arguments: FakeS3.Operation.allCases, Reach.allCases)
    func answers(_ operation: FakeS3.Operation, reach: Reach) async throws {
        for status in Self.statuses {
            try await withFakeS3 {
                if !FakeS3.basicOperations.contains(operation) { $0.multipartThreshold = 1 }
            } _: { fake, storage in
                let saved = SavedCheckpoint()
                try await prepare(operation, fake: fake, storage: storage, saved: saved)
                let before = (fake.objects.mapValues(\.bytes), fake.uploads.count)
                let isThrough = FakeS3.Operation.part == operation || operation == .complete
                fake.fail(reach == .all ? nil : operation, times: .max) { try $0.refuse(.signIn(status)) }
                let error = try await failure { try await perform(operation, storage: storage, saved: saved) }
                // S3 answers the other methods and so contradicts the proxy.
                let isContradicted = operation == .head && reach == .one && status != 200
                // Waiting does not provide the password that a proxy requests.
                #expect(error.isRetryable == (status != 407 || isContradicted), "\(status): \(error)")
                #expect(!error.isMissing, "\(status): \(error)")
                if status != 503, !isContradicted { #expect(error.isAboutStorage, "\(status): \(error)") }
                #expect(fake.objects.mapValues(\.bytes) == before.0, "\(status)")
                #expect(fake.uploads.count == before.1 + (isThrough && reach == .one ? 1 : 0), "\(status)")
                #expect(fake.uploads.isEmpty || saved.value?.uploadID != nil || operation == .uploads, "\(status)")
            }
        }
    }

    @Test("An upload resumes once the proxy is gone", arguments: [FakeS3.Operation.part, .parts, .complete])
    func goesOn(_ operation: FakeS3.Operation) async throws {
        for status in Self.statuses {
            try await withFakeS3 {
                $0.multipartThreshold = 1
            } _: { fake, storage in
                let saved = SavedCheckpoint()
                try await prepare(.parts, fake: fake, storage: storage, saved: saved)
                fake.fail(operation) { try $0.refuse(.signIn(status)) }
                _ = try await failure { try await perform(.parts, storage: storage, saved: saved) }
                _ = try await perform(.parts, storage: storage, saved: saved)
                #expect(fake.stored == bytes, "\(status)")
                #expect(fake.count(.create) == 1, "\(status)")
                #expect(fake.uploads.isEmpty, "\(status)")
            }
        }
    }

    @Test("A 404 to a HEAD is confirmed by a GET before the object counts as missing") func absence() async throws {
        try await withFakeS3 { fake, storage in
            let error = try await failure { try await storage.head(.sample()) }
            #expect(error.isMissing)
            #expect(fake.operations == [.head, .get])
        }
    }

    @Test("A proxy's 404 to a HEAD is detected by the reply to a GET") func presence() async throws {
        try await withFakeS3 { fake, storage in
            fake.store([], at: "folder/file")
            fake.fail(.head, times: .max) { try $0.refuse(.signIn(404)) }
            let error = try await failure { try await storage.head(.sample()) }
            #expect(error.code == .serverError)
        }
    }

    @Test("A 200 to a deletion counts only with an S3 header and without a page", arguments: [true, false])
    func deletionWith200(_ isPage: Bool) async throws {
        try await withFakeS3 { fake, storage in
            fake.fail(.delete) { try $0.refuse(FakeReply(200, headers: [:], isPage ? Array("Deleted".utf8) : [])) }
            let error = try await failure { try await storage.perform(.delete) }
            #expect(error.code == .unreachable)
            fake.fail(.delete) { try $0.refuse(FakeReply(200, headers: ["x-amz-request-id": "1"])) }
            try await storage.perform(.delete)
        }
    }

    @Test("A 204 without an S3 header confirms a deletion if S3 no longer has the object")
    func deletionWithPlain204() async throws {
        try await withFakeS3 { fake, storage in
            fake.store([1, 2, 3], at: "folder/file")
            fake.fail(.delete) { exchange in
                _ = try exchange.act()
                try exchange.send(FakeReply(204))
            }
            try await storage.perform(.delete)
            #expect(fake.operations == [.delete, .get])
        }
    }

    @Test(
        "A proxy's 204 to a deletion is detected by the object that still exists",
        arguments: [[], [1, 2, 3]] as [[UInt8]])
    func deletionByProxy(_ bytes: [UInt8]) async throws {
        try await withFakeS3 { fake, storage in
            fake.store(bytes, at: "folder/file")
            fake.fail(.delete) { try $0.refuse(FakeReply(204)) }
            let error = try await failure { try await storage.perform(.delete) }
            #expect(error.code == .serverError)
            #expect(error.isRetryable)
            try await storage.perform(.delete)
            #expect(fake.objects.isEmpty)
        }
    }

    @Test("A 204 without an S3 header does not count while a proxy answers everything")
    func deletionBehindProxy() async throws {
        try await withFakeS3 { fake, storage in
            fake.store([1, 2, 3], at: "folder/file")
            fake.fail(.delete) { try $0.refuse(FakeReply(204)) }
            fake.fail(.get) { try $0.refuse(.signIn(404)) }
            let error = try await failure { try await storage.perform(.delete) }
            #expect(error.code == .unreachable)
            #expect(!fake.objects.isEmpty)
        }
    }

    @Test("Credentials that may not read can delete on a server without S3 headers")
    func deletionWithoutReading() async throws {
        try await withFakeS3 { fake, storage in
            fake.fail(.delete) { try $0.refuse(FakeReply(204)) }
            fake.fail(.get) { try $0.refuse(.error(403, code: "AccessDenied")) }
            try await storage.perform(.delete)
        }
    }

    @Test("A 412 to a request without a condition does not mean that the object changed")
    func unexpectedCondition() async throws {
        try await withFakeS3 { fake, storage in
            fake.store([1, 2, 3], at: "folder/file")
            for reply in [FakeReply.error(412, code: "PreconditionFailed"), .signIn(412), FakeReply(412)] {
                for operation in [FakeS3.Operation.get, .delete, .list] {
                    fake.fail(operation) { try $0.refuse(reply) }
                    let error = try await failure { try await storage.perform(operation) }
                    #expect(error.code == .serverError, "\(operation)")
                    #expect(error.isRetryable, "\(operation)")
                }
            }
        }
    }

    @Test("A proxy's page with 412 does not mean that a key is taken")
    func takenByProxy() async throws {
        try await withFakeS3 { fake, storage in
            fake.fail(.put) { try $0.refuse(.signIn(412)) }
            let error = try await failure { try await storage.create(.sample(), bytes: [1]) }
            #expect(error.code == .serverError)
            #expect(try await storage.create(.sample(), bytes: [1]))
            #expect(try await !storage.create(.sample(), bytes: [2]))
        }
    }

    @Test("A 404 about the bucket does not confirm a deletion") func bucket() async throws {
        try await withFakeS3 { fake, storage in
            for code in ["NoSuchBucket", "Unheard"] {
                fake.fail(.delete) { try $0.refuse(.error(404, code: code)) }
                let error = try await failure { try await storage.perform(.delete) }
                #expect(error.code == (code == "Unheard" ? .serverError : .misconfigured))
            }
        }
    }

    private func prepare(
        _ operation: FakeS3.Operation, fake: FakeS3, storage: S3Storage, saved: SavedCheckpoint
    ) async throws {
        switch operation {
        case .put, .create, .part, .complete: break
        case .parts, .abort, .uploads:
            fake.fail(.part, after: 2) { try $0.refuse(.error(500, code: "InternalError")) }
            _ = try await failure { try await perform(.parts, storage: storage, saved: saved) }
        default: fake.store([1, 2, 3], at: "folder/file")
        }
    }

    private func perform(
        _ operation: FakeS3.Operation, storage: S3Storage, saved: SavedCheckpoint
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
    /// Returns a page that the proxy serves as a file with an entity tag.
    fileprivate static func signIn(_ status: Int) -> FakeReply {
        var reply = page(status)
        reply.headers["ETag"] = "\"5f3a-600\""
        reply.headers["Location"] = "http://login.example/"
        // A content delivery network adds this header to its own replies too.
        reply.headers["X-Amz-Cf-Id"] = "kVY0fA=="
        return reply
    }
}
