import Foundation
import LFSCurl
import LFSHTTP
import TestSupport
import Testing

/// What the engine refuses before a byte goes out.
@Suite(.timeLimit(.minutes(10))) struct SafetyTests {
    @Test("Plain http to another machine has to be allowed, and the error names the option")
    func plainHTTP() async throws {
        let engine = CurlTransport(.patient)
        let origin = HTTPOrigin(isSecure: false, host: "storage.example", port: nil)
        let error = await #expect(throws: HTTPError.self) { try await engine.send(HTTPRequest(.get, origin, "/")) }
        #expect(error?.code == .invalidRequest && error?.message.contains("allowsPlainHTTP") == true)
        await engine.shutdown()
    }

    @Test("Plain http to this machine needs no permission, and goes past every proxy")
    func loopback() async throws {
        let proxy = try ScriptedServer { _, connection in try connection.reply(502) }
        let server = try ScriptedServer { _, connection in try connection.reply(200) }
        var options = HTTPOptions.patient
        options.proxy = .url(proxy.url.absoluteString)
        let engine = CurlTransport(options)
        for _ in 1...2 { #expect(try await engine.send(HTTPRequest(.get, server)).status == 200) }
        #expect(proxy.connectionCount == 0)
        await engine.shutdown()
        server.close()
        proxy.close()
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
