import Foundation
import LFSHTTP
import LFSStorage
import Synchronization
import Testing

@testable import LFSS3

@Suite("Creation of a bucket")
struct BucketCreationTests {
    /// A server that answers a GET and a PUT of the bucket, each with an error code or with success.
    private final class BucketServer: HTTPTransport {
        private let codes: [HTTPRequest.Method: String]
        private let sent = Mutex<[HTTPRequest]>([])
        var requests: [HTTPRequest] { sent.withLock { $0 } }

        init(_ codes: [HTTPRequest.Method: String]) { self.codes = codes }

        func storage(region: String? = nil) throws -> S3Storage {
            var options = S3Options()
            options.transport = self
            return try S3Storage(
                bucket: "photos", region: region, addressing: .path, credentials: .static(Canary.credentials),
                options: options)
        }

        func send(_ request: HTTPRequest) async throws -> HTTPResponse {
            sent.withLock { $0.append(request) }
            let headers: HTTPHeaders = ["x-amz-request-id": "1", "content-type": "application/xml"]
            guard let code = codes[request.method] else {
                return HTTPResponse(
                    head: HTTPResponseHead(status: 200, headers: headers), bytesSent: request.body.byteCount)
            }
            let text = "<?xml version=\"1.0\"?><Error><Code>\(code)</Code><Message>No.</Message></Error>"
            let status = code == "NoSuchBucket" ? 404 : 409
            return HTTPResponse(
                head: HTTPResponseHead(status: status, headers: headers), body: Array(text.utf8),
                bytesSent: request.body.byteCount)
        }

        func shutdown() async {}
    }

    @Test("An existing bucket is kept")
    func existing() async throws {
        let server = BucketServer([:])
        #expect(try await server.storage().createIfMissing() == false)
        #expect(server.requests.map(\.method) == [.get])
    }

    @Test("A missing bucket of the default region is created without a constraint")
    func created() async throws {
        let server = BucketServer([.get: "NoSuchBucket"])
        #expect(try await server.storage().createIfMissing())
        #expect(server.requests.map(\.method) == [.get, .put])
        #expect(server.requests.last?.target == "/photos" && server.requests.last?.body.byteCount == 0)
    }

    /// Servers other than Amazon's answer 411 to a request without a length (aws/aws-sdk-java-v2, issue 3223).
    @Test("The request to create a bucket has a length, although its body is empty")
    func length() async throws {
        let server = BucketServer([.get: "NoSuchBucket"])
        _ = try await server.storage().createIfMissing()
        guard case .bytes(let bytes) = try #require(server.requests.last).body else {
            Issue.record("The request has no length.")
            return
        }
        #expect(bytes.isEmpty)
    }

    @Test("A missing bucket of another region is created there")
    func region() async throws {
        let server = BucketServer([.get: "NoSuchBucket"])
        #expect(try await server.storage(region: "eu-west-1").createIfMissing())
        let body = try #require(server.requests.last?.body)
        guard case .bytes(let bytes) = body else {
            Issue.record("The request has no body.")
            return
        }
        let text = String(decoding: bytes, as: UTF8.self)
        #expect(text.contains("<LocationConstraint>eu-west-1</LocationConstraint>"))
    }

    @Test("A bucket that another process has just created is kept")
    func concurrent() async throws {
        let server = BucketServer([.get: "NoSuchBucket", .put: "BucketAlreadyOwnedByYou"])
        #expect(try await server.storage().createIfMissing() == false)
    }

    @Test("A name that another account uses is an error")
    func taken() async throws {
        let server = BucketServer([.get: "NoSuchBucket", .put: "BucketAlreadyExists"])
        let error = await #expect(throws: StorageError.self) { try await server.storage().createIfMissing() }
        #expect(error?.code == .misconfigured && error?.message.contains("another account") == true)
    }
}
