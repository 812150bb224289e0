import Dispatch
import Foundation
import LFSCurl
import LFSHTTP
import Synchronization
import TestSupport
import Testing

/// What comes back when something goes wrong.
@Suite(.timeLimit(.minutes(10))) struct FaultTests {
    @Test func anEarlySuccessShowsInTheBytesThatWereSent() async throws {
        try await withEngine { request, connection in
            connection.readBody(request.byteCount / 100)
            try connection.reply(200, ["Connection": "close"])
            connection.reset()
        } _: { server, engine in
            let body = SampleBytes.make(20_000_000)
            do {
                let response = try await engine.send(HTTPRequest(.put, server, "/x", body: .bytes(body)))
                #expect(response.status == 200)
                #expect(response.bytesSent < 20_000_000)
            } catch let error as HTTPError {
                #expect(error.code == .connectionLost)
            }
        }
    }

    @Test func aResetIsAConnectionThatWasLost() async throws {
        try await withEngine { _, connection in
            connection.readBody(1_000)
            connection.reset()
        } _: { server, engine in
            let body = RequestBody.bytes(SampleBytes.make(1 << 20))
            try await #expect(
                code { try await engine.send(HTTPRequest(.put, server, "/x", body: body)) } == .connectionLost)
        }
    }

    @Test func aReplyThatEndsTooEarlyIsAnError() async throws {
        try await withEngine { _, connection in
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nshort")
            connection.hangUp()
        } _: { server, engine in
            try await #expect(code { try await engine.send(HTTPRequest(.get, server)) } == .connectionLost)
        }
    }

    @Test func twoLengthsAreAnError() async throws {
        try await withEngine { _, connection in
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 4\r\n\r\nshort")
        } _: { server, engine in
            try await #expect(code { try await engine.send(HTTPRequest(.get, server)) } == .invalidReply)
        }
    }

    @Test(arguments: ["nonsense\r\n\r\n", "HTTP/1.1 999 x\r\n\r\n", "HTTP/1.1 abc\r\n\r\n", "\0\0\0\0\0\0\0\0"])
    func nonsenseIsAnError(_ reply: String) async throws {
        try await withEngine { _, connection in
            try connection.send(reply)
            connection.hangUp()
        } _: { server, engine in
            let code = try await code { try await engine.send(HTTPRequest(.get, server)) }
            #expect(code == .invalidReply || code == .connectionLost)
        }
    }

    @Test func aReplyLargerThanItsLimitIsAnError() async throws {
        try await withEngine { _, connection in
            try connection.reply(200, [:], String(repeating: "x", count: 2_000))
        } _: { server, engine in
            var request = try HTTPRequest(.get, server)
            request.reply = .bytes(limit: 1_999)
            try await #expect(code { try await engine.send(request) } == .invalidReply)
            request.reply = .bytes(limit: 2_000)
            try await #expect(code { try await engine.send(request) } == nil)
        }
    }

    @Test func aServerThatStandsStillTimesOut() async throws {
        try await withEngine(.plain { $0.stallTimeout = .milliseconds(300) }) { _, connection in
            connection.hang()
        } _: { server, engine in
            try await #expect(code { try await engine.send(HTTPRequest(.get, server)) } == .timeout)
        }
    }

    /// - Parameter piece: bytes that the server sends in each second.
    @Test(arguments: [(1, .timeout), (200, nil)] as [(Int, HTTPError.Code?)])
    func aDownloadThatTricklesTimesOut(_ piece: Int, _ expected: HTTPError.Code?) async throws {
        let start = ContinuousClock.now
        let passed = Mutex(Duration.zero)
        let pause = DispatchSemaphore(value: 0)
        let server = try ScriptedServer { _, connection in
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\n")
            for _ in 0..<(100_000 / piece) {
                try connection.send(String(repeating: "x", count: piece))
                passed.withLock { $0 += .seconds(1) }
                // The engine looks four times a second.
                _ = pause.wait(timeout: .now() + .milliseconds(10))
            }
        }
        let engine = CurlTransport(.plain(), time: { start + passed.withLock { $0 } })
        var request = try HTTPRequest(.get, server)
        request.reply = .sink({ _ in }, mayBlock: false, accept: { _ in true })
        #expect(try await code { try await engine.send(request) } == expected)
        await engine.shutdown()
        server.close()
    }

    @Test func nobodyListening() async throws {
        let server = try ScriptedServer { _, _ in }
        server.close()
        let engine = CurlTransport(.plain())
        try await #expect(code { try await engine.send(HTTPRequest(.get, server)) } == .unreachable)
        await engine.shutdown()
    }

    @Test func aHostThatDoesNotExist() async throws {
        let engine = CurlTransport(.patient)
        let origin = HTTPOrigin(isSecure: true, host: "no-such-host.invalid", port: nil)
        try await #expect(code { try await engine.send(HTTPRequest(.get, origin, "/")) } == .unreachable)
        await engine.shutdown()
    }

    @Test func aFileThatShrinksEndsTheRequestAtOnce() async throws {
        try await withTemporaryFolder { folder in
            let file = try openFile(SampleBytes.make(100_000), in: folder)
            try await withEngine { request, connection in
                connection.readBody(request.byteCount)
            } _: { server, engine in
                let body = RequestBody.file(file, 0..<200_000)
                let code = try await code { try await engine.send(HTTPRequest(.put, server, "/x", body: body)) }
                #expect(code == .bodyUnreadable)
            }
        }
    }

    @Test func aRedirectIsAReplyLikeOthers() async throws {
        try await withEngine { _, connection in
            try connection.reply(301, ["Location": "http://127.0.0.1:1/elsewhere", "Set-Cookie": "a=b"])
        } _: { server, engine in
            let response = try await engine.send(HTTPRequest(.get, server))
            #expect(response.status == 301)
            _ = try await engine.send(HTTPRequest(.get, server))
            #expect(server.requests.last?.headers["cookie"] == nil)
        }
    }

    @Test func aDeadKeptConnectionIsReplacedWithoutAnError() async throws {
        let count = Mutex(0)
        try await withEngine { request, connection in
            try connection.readBody(of: request)
            try connection.reply(200)
            let isFirst = count.withLock { count in
                count += 1
                return count == 1
            }
            // Ends the connection without having said so.
            if isFirst { connection.hangUp() }
        } _: { server, engine in
            for _ in 0..<3 { _ = try await engine.send(HTTPRequest(.put, server, "/x", body: .bytes([1]))) }
            #expect(server.requests.count == 3)
            #expect(server.connectionCount == 2)
        }
    }
}
