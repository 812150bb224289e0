import Foundation
import LFSHTTP
import LFSURLSession
import TestSupport
import Testing

@Suite("What URLSession cannot do", .timeLimit(.minutes(10))) struct UnsupportedOptionTests {
    private func failure(_ change: (inout HTTPOptions) -> Void, target: String = "/") async throws -> HTTPError? {
        let engine = URLSessionTransport(.plain(change))
        let origin = HTTPOrigin(isSecure: false, host: "127.0.0.1", port: 1)
        let error = await #expect(throws: HTTPError.self) {
            try await engine.send(HTTPRequest(.get, origin: origin, target: target))
        }
        await engine.shutdown()
        return error
    }

    @Test("A client certificate is refused, and the error names the way out")
    func clientCertificate() async throws {
        let error = try await failure { $0.clientCertificate = .init([1, 2], password: nil) }
        #expect(error?.code == .invalidRequest)
        #expect(error?.message.contains("client certificate") == true)
        #expect(error?.message.contains("libcurl") == true)
    }

    @Test("A limit of the upload rate is refused")
    func sendLimit() async throws {
        #expect(try await failure { $0.sendLimit = 1_000 }?.code == .invalidRequest)
    }

    @Test("A limit of the download rate is refused")
    func receiveLimit() async throws {
        #expect(try await failure { $0.receiveLimit = 1_000 }?.code == .invalidRequest)
    }

    @Test("A proxy of the environment is refused")
    func proxy() async throws {
        #expect(try await failure { $0.proxy = .environment }?.code == .invalidRequest)
    }

    @Test("A path with dot segments is refused, because URLSession would remove them")
    func dotSegments() async throws {
        #expect(try await failure({ _ in }, target: "/a/../b")?.code == .invalidRequest)
    }

    @Test("An encoded object is refused, because URLSession would decode it")
    func encodedObject() async throws {
        let server = try ScriptedServer { _, connection in
            try connection.reply(200, headers: ["Content-Encoding": "br"], "packed")
        }
        let engine = URLSessionTransport(.plain())
        let error = await #expect(throws: HTTPError.self) {
            try await engine.send(HTTPRequest(.get, server: server))
        }
        #expect(error?.code == .invalidReply)
        #expect(error?.message.contains("Content-Encoding: br") == true)
        await engine.shutdown()
        server.close()
    }
}
