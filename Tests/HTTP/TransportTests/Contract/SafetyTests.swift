import Foundation
import LFSHTTP
import TestSupport
import Testing

/// Tests of requests that the engine refuses before sending any byte.
@Suite(.timeLimit(.minutes(10))) struct SafetyTests {
    @Test("Plain HTTP to another machine is refused, and the error names the option", arguments: Engine.all)
    func plainHTTP(_ kind: Engine) async throws {
        let engine = kind.make(.patient)
        let origin = HTTPOrigin(isSecure: false, host: "storage.example", port: nil)
        let error = await #expect(throws: HTTPError.self) {
            try await engine.send(HTTPRequest(.get, origin: origin, target: "/"))
        }
        #expect(error?.code == .invalidRequest && error?.message.contains("allowsPlainHTTP") == true)
        await engine.shutdown()
    }

    @Test(
        "Plain HTTP to this machine needs no permission and bypasses the proxy", arguments: Engine.keeping(.namedProxy))
    func loopback(_ kind: Engine) async throws {
        let proxy = try ScriptedServer { _, connection in try connection.reply(502) }
        let server = try ScriptedServer { _, connection in try connection.reply(200) }
        var options = HTTPOptions.patient
        options.proxy = .url(proxy.url.absoluteString)
        let engine = kind.make(options)
        for _ in 1...2 { #expect(try await engine.send(HTTPRequest(.get, server: server)).status == 200) }
        #expect(proxy.connectionCount == 0)
        await engine.shutdown()
        server.close()
        proxy.close()
    }

    @Test(arguments: Engine.all, ["x", "/a b", "/a\r\nHost: evil", "/a\0", "/ä", ""])
    func aPathHasToBeEncoded(_ kind: Engine, target: String) async throws {
        try await withEngine(kind) { _, connection in
            try connection.reply(200)
        } _: { server, engine in
            try await #expect(
                code { try await engine.send(HTTPRequest(.get, server: server, target: target)) } == .invalidRequest)
            #expect(server.connectionCount == 0)
        }
    }

    @Test(arguments: Engine.all) func anErrorNamesTheHostAndNoSecret(_ kind: Engine) async throws {
        let server = try ScriptedServer { _, _ in }
        server.close()
        let engine = kind.make(.plain())
        var request = try HTTPRequest(.get, server: server, target: "/key?X-Amz-Signature=s3cret")
        try request.headers.set("Authorization", value: "s3cret")
        do {
            _ = try await engine.send(request)
            Issue.record("No server listens there.")
        } catch let error as HTTPError {
            #expect("\(error)".contains("127.0.0.1"))
            #expect(!String(reflecting: error).contains("s3cret"))
        }
        await engine.shutdown()
    }
}
