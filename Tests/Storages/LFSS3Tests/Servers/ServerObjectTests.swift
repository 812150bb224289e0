import Foundation
import LFSHTTP
import LFSHTTPStorage
import LFSStorage
import LFSTesting
import Synchronization
import TestSupport
import Testing

@testable import LFSS3

@Suite("Objects on a server", .enabled(if: TestServer.isAvailable), .timeLimit(.minutes(10)))
struct ServerObjectTests {
    @Test("An object has its content type, name and checksum", arguments: TestServer.all, [false, true])
    func metadata(_ server: TestServer, isLarge: Bool) async throws {
        guard !isLarge || server.speaksMultipart else { return }
        let storage = try await server.storage { $0.multipartThreshold = isLarge ? 1 : .max }
        let key = try TestServer.newKey()
        let name = "Grüße & 文件 100 %/\"1\"+2.tar.gz"
        try await withTemporaryFolder { folder in
            try Data("content".utf8).write(to: folder.child("file"))
            let sha256 = SampleBytes.sha256("content".utf8)
            let source = try UploadSource(
                file: folder.child("file"), byteCount: 7, sha256: sha256, contentType: "text/x-test", name: name)
            _ = try await storage.upload(source, to: key, session: .init())
            let fields = try await storage.client.send(S3Request(.head, key: key)).headers
            #expect(fields["content-type"] == "text/x-test")
            #expect(fields["x-amz-meta-lfs-sha256"] == sha256)
            #expect(fields["x-amz-meta-lfs-name"]?.removingPercentEncoding.map { Array($0.utf8) } == Array(name.utf8))
        }
        await storage.shutdown()
    }

    @Test("A signed URL downloads its object and nothing else", arguments: TestServer.all)
    func downloadURL(_ server: TestServer) async throws {
        let storage = try await server.storage(prefix: "a b+c/ü")
        let (key, other) = (try TestServer.newKey(), try TestServer.newKey())
        for key in [key, other] {
            _ = try await storage.upload(.temporary([1, 2, 3]), to: key, session: .init())
        }
        let url = try await storage.downloadURL(for: key, expires: .seconds(60)).absoluteString
        let reply = try await plain(.get, text: url)
        #expect(reply.status == 200)
        #expect(reply.body == [1, 2, 3])

        let last = url.hasSuffix("0") ? "1" : "0"
        let unsigned = try #require(url.split(separator: "?").first)
        for forged in [
            url.replacing(key.rawValue, with: other.rawValue),
            url.replacing("X-Amz-Expires=60", with: "X-Amz-Expires=61"),
            url.dropLast() + last, String(unsigned),
        ] {
            #expect(forged != url)
            #expect(try await plain(.get, text: forged).status >= 400)
        }
        #expect(try await plain(.delete, text: url).status >= 400)
        try await #expect(storage.contents(key) == [1, 2, 3])
        await storage.shutdown()
    }

    /// The two forms of ü are two different prefixes.
    @Test(
        "A prefix may contain special characters",
        arguments: TestServer.all,
        [
            "a b", "a+b", "a//b", "100%", "a%20b", "~x", "u\u{308}", "\u{FC}", "a=b&c;d", "(x)'!*", "#?", "文件",
            "a:b@c,d$e",
            "..a", "a\\b", "[x]{y}|^`",
        ])
    func awkwardPrefix(_ server: TestServer, prefix: String) async throws {
        // The length separates prefixes that a server treats as the same.
        let storage = try await server.storage(prefix: "awkward/\(prefix.utf8.count)/\(prefix)")
        let key = try ObjectKey("folder/file")
        let bytes = Array(prefix.utf8)
        if server.refuses(prefix) {
            let error = try await storageError {
                try await storage.upload(.temporary(bytes), to: key, session: .init())
            }
            #expect(error?.code == .invalidRequest)
            return await storage.shutdown()
        }
        let object = try await storage.upload(.temporary(bytes), to: key, session: .init())
        #expect(object.byteCount == Int64(bytes.count))
        try await #expect(storage.contents(key) == bytes)
        try await withKnownIssue("listed under a plain slash, or the listing is refused") {
            try await #expect(storage.list(ListRequest(prefix: "")).objects.map(\.key) == [key])
        } when: {
            server.isConfusedInListings(by: prefix)
        }
        let url = try await storage.downloadURL(for: key, expires: .seconds(60)).absoluteString
        try await #expect(plain(.get, text: url).body == bytes)
        try await storage.delete(key, abandoning: nil)
        let error = try await storageError { try await storage.head(key) }
        #expect(error?.isMissing == true)
        await storage.shutdown()
    }

    /// Sends a request like a client that has only the URL.
    private func plain(_ method: HTTPRequest.Method, text: String, _ body: [UInt8]? = nil) async throws
        -> HTTPResponse
    {
        var options = HTTPOptions()
        options.allowsPlainHTTP = true
        let engine = DefaultTransport.make(options)
        let url = try #require(URL(string: text))
        let origin = try HTTPOrigin(url)
        let target = String(text.dropFirst(origin.description.count))
        let reply = try await engine.send(
            HTTPRequest(method, origin: origin, target: target, body: body.map { .bytes($0) } ?? .none))
        await engine.shutdown()
        return reply
    }
}

@Suite("Connections to a server", .enabled(if: TestServer.isAvailable), .timeLimit(.minutes(10)))
struct ServerConnectionTests {
    private static let secure = TestServer.all.filter { $0.secureEndpoint != nil }

    @Test("A TLS connection succeeds with the server's trusted authority", arguments: secure)
    func trusted(_ server: TestServer) async throws {
        let storage = try await server.storage(endpoint: server.secureEndpoint) {
            $0.allowsPlainHTTP = false
            $0.certificateAuthorities = server.certificate
        }
        let key = try TestServer.newKey()
        let bytes = SampleBytes.make(3 << 20)
        _ = try await storage.upload(.temporary(bytes), to: key, session: .init())
        try await #expect(storage.contents(key) == bytes)
        await storage.shutdown()
    }

    @Test("A TLS connection to an untrusted server is refused", arguments: secure)
    func untrusted(_ server: TestServer) async throws {
        let storage = try await server.storage(endpoint: server.secureEndpoint) { $0.allowsPlainHTTP = false }
        for operation in FakeS3.basicOperations {
            let error = try await storageError { try await storage.perform(operation) }
            #expect((error?.cause as? HTTPError)?.code == .untrusted, "\(String(describing: error))")
            #expect(error?.code == .misconfigured)
            #expect(error?.isRetryable == false)
        }
        await storage.shutdown()
    }

    @Test("A bucket can be addressed by host name", arguments: TestServer.all.filter(\.knowsVirtualHosts))
    func virtualHost(_ server: TestServer) async throws {
        var parts = try #require(URLComponents(url: server.endpoint, resolvingAgainstBaseURL: false))
        parts.host = "s3.localhost"
        let storage = try await server.storage(prefix: "virtual host", endpoint: parts.url, addressing: .virtual)
        let key = try TestServer.newKey()
        let object = try await storage.upload(.temporary([1, 2, 3]), to: key, session: .init())
        #expect(object.url.host() == "\(TestServer.bucket).s3.localhost")
        try await #expect(storage.contents(key) == [1, 2, 3])
        try await #expect(storage.list(ListRequest(prefix: key.rawValue)).objects.map(\.key) == [key])
        try await storage.delete(key, abandoning: nil)
        await storage.shutdown()
    }
}
