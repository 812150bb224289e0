import Foundation
import LFSHTTP
import TestSupport
import Testing

/// What the engine refuses before a byte goes out.
@Suite(.timeLimit(.minutes(1))) struct SafetyTests {
    @Test func plainHTTPHasToBeAllowed() async throws {
        let server = try ScriptedServer { _, connection in try connection.reply(200) }
        let engine = CurlTransport()
        try await #expect(code { try await engine.send(HTTPRequest(.get, server)) } == .invalidRequest)
        #expect(server.connectionCount == 0)
        await engine.shutdown()
        server.close()
    }

    @Test(arguments: ["x", "/a b", "/a\r\nHost: evil", "/a\0", "/ä", ""])
    func aPathHasToBeEncoded(_ target: String) async throws {
        try await withEngine { _, connection in
            try connection.reply(200)
        } _: { server, engine in
            try await #expect(code { try await engine.send(HTTPRequest(.get, server, target)) } == .invalidRequest)
            #expect(server.connectionCount == 0)
        }
    }

    @Test(arguments: ["ftp://host", "https://user:secret@host", "file:///etc/passwd", "https://", "host"])
    func anOriginIsAServerAndNothingElse(_ text: String) throws {
        let url = try #require(URL(string: text))
        #expect(throws: HTTPError.self) { try HTTPOrigin(url) }
    }

    @Test(arguments: [
        ("HTTPS://Example.COM", "https://example.com"), ("https://example.com:443/x", "https://example.com"),
        ("http://[::1]:8080", "http://[::1]:8080"), ("http://h:80", "http://h"), ("http://h:443", "http://h:443"),
    ])
    func anOriginHasOneForm(_ text: String, _ form: String) throws {
        #expect(try HTTPOrigin(#require(URL(string: text))).description == form)
    }

    @Test func anErrorNamesTheHostAndNoSecret() async throws {
        let server = try ScriptedServer { _, _ in }
        server.close()
        let engine = CurlTransport(.plain())
        var request = try HTTPRequest(.get, server, "/key?X-Amz-Signature=s3cret")
        try request.headers.set("Authorization", "s3cret")
        do {
            _ = try await engine.send(request)
            Issue.record("nobody listens there")
        } catch let error as HTTPError {
            #expect("\(error)".contains("127.0.0.1"))
            #expect(!String(reflecting: error).contains("s3cret"))
        }
        await engine.shutdown()
    }
}
