import LFSStorage
import LFSTesting
import TestSupport
import Testing

@testable import LFSS3

@Suite("Canned ACLs of new objects", .timeLimit(.minutes(10)))
struct CannedACLTests {
    private static let field = "x-amz-acl"

    @Test("An upload in one request carries the canned ACL in its signed fields")
    func inOneRequest() async throws {
        try await withFakeS3(options: { $0.cannedACL = "public-read" }) { fake, storage in
            _ = try await storage.upload(.temporary([1, 2, 3]), to: .sample(), session: .init())
            let put = try #require(fake.requests.first { $0.method == "PUT" })
            #expect(put.headers[Self.field] == "public-read")
            #expect(put.headers["authorization"]?.contains(Self.field) == true)
        }
    }

    @Test("An upload in parts carries the canned ACL in its first request only")
    func inParts() async throws {
        try await withFakeS3(options: {
            $0.cannedACL = "public-read"
            $0.multipartThreshold = 1
        }) { fake, storage in
            _ = try await storage.upload(.temporary(SampleBytes.make(2 << 20)), to: .sample(), session: .init())
            #expect(fake.count(.create) == 1)
            #expect(fake.count(.part) == 2)
            let requests = fake.requests.filter { $0.headers[Self.field] != nil }
            #expect(requests.map(\.method) == ["POST"])
            let create = try #require(requests.first)
            #expect(create.target.contains("?uploads"))
            #expect(create.headers[Self.field] == "public-read")
            #expect(create.headers["authorization"]?.contains(Self.field) == true)
        }
    }

    @Test("Without the option, no request has an ACL", arguments: [Int64.max, 1])
    func withoutOption(_ threshold: Int64) async throws {
        try await withFakeS3(options: { $0.multipartThreshold = threshold }) { fake, storage in
            _ = try await storage.upload(.temporary([1, 2, 3]), to: .sample(), session: .init())
            #expect(fake.stored == [1, 2, 3])
            #expect(!fake.requests.contains { $0.headers.keys.contains { $0.contains("acl") } })
        }
    }
}
