import Dispatch
import Foundation
import LFSHTTP
import Synchronization
import TestSupport
import Testing

/// Tests of failures and their error codes.
@Suite(.timeLimit(.minutes(10))) struct FaultTests {
    @Test(arguments: Engine.all) func anEarlySuccessShowsInTheBytesThatWereSent(_ kind: Engine) async throws {
        try await withEngine(kind) { request, connection in
            connection.readBody(request.byteCount / 100)
            try connection.reply(200, headers: ["Connection": "close"])
            connection.reset()
        } _: { server, engine in
            let body = SampleBytes.make(20_000_000)
            do {
                let response = try await engine.send(
                    HTTPRequest(.put, server: server, target: "/x", body: .bytes(body)))
                #expect(response.status == 200)
                #expect(response.bytesSent < 20_000_000)
            } catch let error as HTTPError {
                #expect(error.code == .connectionLost)
            }
        }
    }

    @Test(arguments: Engine.all) func aResetIsAConnectionThatWasLost(_ kind: Engine) async throws {
        try await withEngine(kind) { _, connection in
            connection.readBody(1_000)
            connection.reset()
        } _: { server, engine in
            let body = RequestBody.bytes(SampleBytes.make(1 << 20))
            try await #expect(
                code { try await engine.send(HTTPRequest(.put, server: server, target: "/x", body: body)) }
                    == .connectionLost)
        }
    }

    @Test(arguments: Engine.all) func aReplyThatEndsTooEarlyIsAnError(_ kind: Engine) async throws {
        try await withEngine(kind) { _, connection in
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nshort")
            connection.hangUp()
        } _: { server, engine in
            try await #expect(code { try await engine.send(HTTPRequest(.get, server: server)) } == .connectionLost)
        }
    }

    @Test(arguments: Engine.all) func twoLengthsAreAnError(_ kind: Engine) async throws {
        try await withEngine(kind) { _, connection in
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 4\r\n\r\nshort")
        } _: { server, engine in
            try await #expect(code { try await engine.send(HTTPRequest(.get, server: server)) } == .invalidReply)
        }
    }

    @Test(
        arguments: Engine.all,
        ["nonsense\r\n\r\n", "HTTP/1.1 999 x\r\n\r\n", "HTTP/1.1 abc\r\n\r\n", "\0\0\0\0\0\0\0\0"])
    func nonsenseIsAnError(_ kind: Engine, reply: String) async throws {
        try await withEngine(kind) { _, connection in
            try connection.send(reply)
            connection.hangUp()
        } _: { server, engine in
            let code = try await code { try await engine.send(HTTPRequest(.get, server: server)) }
            #expect(code == .invalidReply || code == .connectionLost)
        }
    }

    @Test(arguments: Engine.all) func aReplyLargerThanItsLimitIsAnError(_ kind: Engine) async throws {
        try await withEngine(kind) { _, connection in
            try connection.reply(200, headers: [:], String(repeating: "x", count: 2_000))
        } _: { server, engine in
            var request = try HTTPRequest(.get, server: server)
            request.reply = .bytes(limit: 1_999)
            try await #expect(code { try await engine.send(request) } == .invalidReply)
            request.reply = .bytes(limit: 2_000)
            try await #expect(code { try await engine.send(request) } == nil)
        }
    }

    @Test(arguments: Engine.all) func aServerThatStandsStillTimesOut(_ kind: Engine) async throws {
        try await withEngine(kind, options: .plain { $0.stallTimeout = .milliseconds(300) }) { _, connection in
            connection.hang()
        } _: { server, engine in
            try await #expect(code { try await engine.send(HTTPRequest(.get, server: server)) } == .timeout)
        }
    }

    /// - Parameter piece: the number of bytes that the server sends per second.
    @Test(arguments: Engine.all, [1, 200]) func aDownloadThatTricklesTimesOut(_ kind: Engine, piece: Int) async throws {
        let start = ContinuousClock.now
        let passed = Mutex(Duration.zero)
        let taken = Mutex(0)
        let pause = DispatchSemaphore(value: 0)
        let server = try ScriptedServer { _, connection in
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
            for second in 1...(100_000 / piece) {
                try connection.send(String(repeating: "x", count: piece))
                passed.withLock { $0 += .seconds(1) }
                // libcurl's engine checks four times a second. A busy machine must not slow the line down.
                for _ in 0..<1_000 {
                    _ = pause.wait(timeout: .now() + .milliseconds(10))
                    if taken.withLock({ $0 }) >= second * piece { break }
                }
            }
        }
        let engine = kind.make(.plain(), time: { start + passed.withLock { $0 } })
        var request = try HTTPRequest(.get, server: server)
        request.reply = .sink(
            { piece in taken.withLock { $0 += piece.count } }, mayBlock: false, accept: { _ in true })
        #expect(try await code { try await engine.send(request) } == (piece == 1 ? .timeout : nil))
        await engine.shutdown()
        server.close()
    }

    @Test(arguments: Engine.all) func nobodyListening(_ kind: Engine) async throws {
        let server = try ScriptedServer { _, _ in }
        server.close()
        let engine = kind.make(.plain())
        try await #expect(code { try await engine.send(HTTPRequest(.get, server: server)) } == .unreachable)
        await engine.shutdown()
    }

    @Test(arguments: Engine.all) func aHostThatDoesNotExist(_ kind: Engine) async throws {
        let engine = kind.make(.patient)
        let origin = HTTPOrigin(isSecure: true, host: "no-such-host.invalid", port: nil)
        try await #expect(
            code { try await engine.send(HTTPRequest(.get, origin: origin, target: "/")) } == .unreachable)
        await engine.shutdown()
    }

    @Test(arguments: Engine.all) func aFileThatShrinksEndsTheRequestAtOnce(_ kind: Engine) async throws {
        try await withTemporaryFolder { folder in
            let file = try openFile(SampleBytes.make(100_000), in: folder)
            try await withEngine(kind) { request, connection in
                connection.readBody(request.byteCount)
            } _: { server, engine in
                let body = RequestBody.file(file, range: 0..<200_000)
                let code = try await code {
                    try await engine.send(HTTPRequest(.put, server: server, target: "/x", body: body))
                }
                #expect(code == .bodyUnreadable)
            }
        }
    }

    @Test("A reply that asks for credentials is returned", arguments: Engine.keeping(.demandsForCredentials))
    func unauthorized(_ kind: Engine) async throws {
        try await withEngine(kind) { request, connection in
            try connection.readBody(of: request)
            try connection.reply(401, headers: ["WWW-Authenticate": "Basic realm=\"x\""], "who?")
        } _: { server, engine in
            let response = try await engine.send(HTTPRequest(.put, server: server, target: "/x", body: .bytes([1])))
            #expect(response.status == 401)
            #expect(String(decoding: response.body, as: UTF8.self) == "who?")
        }
    }

    @Test("A refusal that comes before the whole body was sent is returned", arguments: Engine.all)
    func earlyRefusal(_ kind: Engine) async throws {
        try await withEngine(kind) { _, connection in
            connection.readBody(1_000)
            try connection.reply(403, headers: ["Connection": "close"])
            connection.hang()
        } _: { server, engine in
            let body = RequestBody.bytes(SampleBytes.make(20_000_000))
            let response = try await engine.send(HTTPRequest(.put, server: server, target: "/x", body: body))
            #expect(response.status == 403)
            #expect(response.bytesSent < 20_000_000)
        }
    }

    @Test(arguments: Engine.all) func aRedirectIsAReplyLikeOthers(_ kind: Engine) async throws {
        try await withEngine(kind) { _, connection in
            try connection.reply(301, headers: ["Location": "http://127.0.0.1:1/elsewhere", "Set-Cookie": "a=b"])
        } _: { server, engine in
            let response = try await engine.send(HTTPRequest(.get, server: server))
            #expect(response.status == 301)
            _ = try await engine.send(HTTPRequest(.get, server: server))
            #expect(server.requests.last?.headers["cookie"] == nil)
        }
    }

    @Test(arguments: Engine.all) func aDeadKeptConnectionIsReplacedWithoutAnError(_ kind: Engine) async throws {
        let count = Mutex(0)
        try await withEngine(kind) { request, connection in
            try connection.readBody(of: request)
            try connection.reply(200)
            let isFirst = count.withLock { count in
                count += 1
                return count == 1
            }
            // Closes the connection without announcing it.
            if isFirst { connection.hangUp() }
        } _: { server, engine in
            for _ in 0..<3 {
                _ = try await engine.send(HTTPRequest(.put, server: server, target: "/x", body: .bytes([1])))
            }
            #expect(server.requests.count == 3)
            #expect(server.connectionCount == 2)
        }
    }
}
