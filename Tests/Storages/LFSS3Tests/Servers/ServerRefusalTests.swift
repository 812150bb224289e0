import Foundation
import LFSHTTP
import LFSStorage
import LFSTesting
import TestSupport
import Testing

@testable import LFSS3

@Suite("Refusals by servers", .enabled(if: TestServer.isAvailable), .timeLimit(.minutes(10)))
struct ServerRefusalTests {
    @Test("A wrong secret key is refused without appearing in the error", arguments: TestServer.all)
    func wrongSecret(_ server: TestServer) async throws {
        let wrong = S3Credentials(accessKeyID: server.accessKey, secretAccessKey: "canarySecretKey")
        let storage = try await server.storage(credentials: .static(wrong))
        let error = try await storageError {
            try await storage.upload(.temporary([1]), to: TestServer.newKey(), session: .init())
        }
        #expect(error?.code == .unauthorized, "\(String(describing: error))")
        #expect(error?.message.contains("canary") == false)
        await storage.shutdown()
    }

    @Test("An unknown access key is refused", arguments: TestServer.all)
    func wrongAccessKey(_ server: TestServer) async throws {
        let wrong = S3Credentials(accessKeyID: "nobody", secretAccessKey: server.secretKey)
        let storage = try await server.storage(credentials: .static(wrong))
        let error = try await storageError { try await storage.list(ListRequest(prefix: "")) }
        #expect(error?.isRetryable == false)
        #expect([.unauthorized, .forbidden].contains(error?.code), "\(String(describing: error))")
        await storage.shutdown()
    }

    @Test("An error about a missing bucket tells the caller to create it", arguments: TestServer.all)
    func unknownBucket(_ server: TestServer) async throws {
        let storage = try S3Storage(
            bucket: "no-such-bucket", region: server.region, endpoint: server.endpoint,
            credentials: .static(server.credentials), options: server.options())
        for operation in [FakeS3.Operation.put, .list, .get] {
            let error = try await storageError { try await storage.perform(operation) }
            #expect(error?.code == .misconfigured, "\(operation): \(String(describing: error))")
            #expect(error?.message.contains("Create the bucket") == true, "\(String(describing: error))")
        }
        await storage.shutdown()
    }

    @Test("A signature for another region fails or is corrected", arguments: TestServer.all.filter(\.checksRegion))
    func wrongRegion(_ server: TestServer) async throws {
        let storage = try await server.storage(region: "eu-west-7")
        let key = try TestServer.newKey()
        let error = try await storageError { try await storage.upload(.temporary([1]), to: key, session: .init()) }
        if let error {
            #expect(error.code == .invalidRequest)
            #expect(error.message.contains("region"))
        } else {
            try await #expect(storage.contents(key) == [1])
        }
        await storage.shutdown()
    }

    @Test("A body that differs from the signed hash is refused", arguments: TestServer.all.filter(\.checksPayloadHash))
    func wrongPayload(_ server: TestServer) async throws {
        try await expectRefusal(by: server) { $0.payloadHash = SampleBytes.sha256([9]) }
    }

    @Test("A body with another SHA-256 is refused", arguments: TestServer.all.filter(\.checksSHA256))
    func wrongSHA256(_ server: TestServer) async throws {
        try await expectRefusal(by: server) {
            try $0.headers.set(.sha256, sha256: SampleBytes.sha256([9]), md5: nil)
        }
    }

    @Test("A body with another MD5 is refused", arguments: TestServer.all)
    func wrongMD5(_ server: TestServer) async throws {
        try await expectRefusal(by: server) {
            try $0.headers.set(.contentMD5, sha256: "", md5: String(repeating: "0", count: 32))
        }
    }

    /// Uploads three bytes once correctly and once with a change.
    private func expectRefusal(by server: TestServer, _ change: (inout S3Request) throws -> Void) async throws {
        let storage = try await server.storage()
        let (good, bad) = (try TestServer.newKey(), try TestServer.newKey())
        var request = S3Request(.put, key: good)
        request.body = .bytes([1, 2, 3])
        request.payloadHash = SampleBytes.sha256([1, 2, 3])
        _ = try await storage.client.send(request)
        request.key = bad
        try change(&request)
        do {
            _ = try await storage.client.send(request)
            Issue.record("\(server.name) accepted the request.")
        } catch let failure as S3Failure {
            #expect(failure.storageError.code == .integrity, "\(failure)")
        }
        let error = try await storageError { try await storage.head(bad) }
        #expect(error?.isMissing == true)
        await storage.shutdown()
    }
}
