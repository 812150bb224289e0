import Foundation
import LFSCurl
import LFSHTTP
import Synchronization
import TestSupport
import Testing

/// What goes out and what comes back when all goes well.
@Suite(.timeLimit(.minutes(10))) struct ExchangeTests {
    @Test func aReplyHasStatusFieldsAndBody() async throws {
        try await withEngine { _, connection in
            try connection.reply(404, ["ETag": "\"x\"", "Content-Type": "text/plain"], "not here")
        } _: { server, engine in
            let response = try await engine.send(HTTPRequest(.get, server, "/a%20b?c=d%2Fe"))
            #expect(response.status == 404)
            #expect(response.headers["etag"] == "\"x\"")
            #expect(String(decoding: response.body, as: UTF8.self) == "not here")
            #expect(server.requests.first?.target == "/a%20b?c=d%2Fe")
        }
    }

    @Test func aPathGoesOutUntouched() async throws {
        try await withEngine { _, connection in
            try connection.reply(200)
        } _: { server, engine in
            _ = try await engine.send(HTTPRequest(.get, server, "/a//b/../c/./%7E"))
            #expect(server.requests.first?.target == "/a//b/../c/./%7E")
        }
    }

    @Test(arguments: [HTTPRequest.Method.put, .post])
    func bytesGoOutWithTheirLength(_ method: HTTPRequest.Method) async throws {
        let received = Mutex<[UInt8]>([])
        let bytes = SampleBytes.make(300_000)
        try await withEngine { request, connection in
            let body = try connection.readBody(of: request)
            received.withLock { $0 = body }
            try connection.reply(200)
        } _: { server, engine in
            var request = try HTTPRequest(method, server, "/x", body: .bytes(bytes))
            try request.headers.set("x-empty", "")
            let response = try await engine.send(request)
            #expect(response.bytesSent == 300_000)
            #expect(received.withLock { $0 } == bytes)
            let seen = try #require(server.requests.first)
            #expect(seen.method == method.rawValue)
            #expect(seen.headers["content-length"] == "300000")
            #expect(seen.headers["transfer-encoding"] == nil)
            #expect(seen.headers["expect"] == nil)
            #expect(seen.headers["accept"] == nil)
            #expect(seen.headers["x-empty"] == "")
        }
    }

    @Test func anEmptyBodyHasALengthToo() async throws {
        try await withEngine { _, connection in
            try connection.reply(200)
        } _: { server, engine in
            _ = try await engine.send(HTTPRequest(.put, server, "/x", body: .bytes([])))
            #expect(server.requests.first?.headers["content-length"] == "0")
        }
    }

    @Test func aRangeOfAFileGoesOut() async throws {
        let received = Mutex<[UInt8]>([])
        let bytes = SampleBytes.make(3 << 20)
        try await withTemporaryFolder { folder in
            let file = try openFile(bytes, in: folder)
            try await withEngine { request, connection in
                let body = try connection.readBody(of: request)
                received.withLock { $0 = body }
                try connection.reply(200)
            } _: { server, engine in
                let progress = Mutex<[Int64]>([])
                var request = try HTTPRequest(.put, server, "/x", body: .file(file, 1_000..<2_500_000))
                request.onProgress = { count in progress.withLock { $0.append(count) } }
                _ = try await engine.send(request)
                #expect(received.withLock { $0 } == Array(bytes[1_000..<2_500_000]))
                let counts = progress.withLock { $0 }
                #expect(counts == counts.sorted())
                #expect(counts.last == 2_499_000)
            }
        }
    }

    @Test(arguments: [true, false])
    func aSinkTakesTheBytesOnlyIfTheHeadIsAccepted(mayBlock: Bool) async throws {
        let bytes = SampleBytes.make(5 << 20)
        try await withEngine { request, connection in
            let isFound = request.target == "/found"
            try connection.send(
                "HTTP/1.1 \(isFound ? 206 : 404) Text\r\nContent-Length: \(isFound ? bytes.count : 4)\r\n\r\n")
            try connection.send(isFound ? bytes : Array("gone".utf8))
        } _: { server, engine in
            for target in ["/found", "/missing"] {
                let taken = Mutex<[UInt8]>([])
                var request = try HTTPRequest(.get, server, target)
                request.reply = .sink(
                    { piece in taken.withLock { $0.append(contentsOf: piece) } }, mayBlock: mayBlock,
                    accept: { $0.status == 206 })
                let response = try await engine.send(request)
                #expect(taken.withLock { $0 } == (target == "/found" ? bytes : []))
                #expect(response.body == (target == "/found" ? [] : Array("gone".utf8)))
            }
        }
    }

    @Test func aSlowSinkHoldsItsConnectionBackAndNothingElse() async throws {
        let bytes = SampleBytes.make(16 << 20)
        let sent = Mutex(0)
        try await withEngine { request, connection in
            guard request.target == "/large" else { return try connection.reply(200) }
            try connection.send("HTTP/1.1 200 OK\r\nContent-Length: \(bytes.count)\r\n\r\n")
            for start in stride(from: 0, to: bytes.count, by: 1 << 20) {
                try connection.send(Array(bytes[start..<start + (1 << 20)]))
                sent.withLock { $0 += 1 << 20 }
            }
        } _: { server, engine in
            let gate = DispatchSemaphore(value: 0)
            let isOpen = Mutex(false)
            let taken = Mutex<[UInt8]>([])
            var large = try HTTPRequest(.get, server, "/large")
            large.reply = .sink(
                { piece in
                    if !isOpen.withLock({ $0 }) { gate.wait() }
                    taken.withLock { $0.append(contentsOf: piece) }
                }, accept: { _ in true })
            async let whole = engine.send(large)
            // While the sink stands still, other requests go on.
            for _ in 0..<20 { _ = try await engine.send(HTTPRequest(.get, server, "/small")) }
            #expect(sent.withLock { $0 } < bytes.count)
            isOpen.withLock { $0 = true }
            gate.signal()
            _ = try await whole
            #expect(taken.withLock { $0 } == bytes)
        }
    }

    @Test(arguments: [true, false])
    func anErrorOfASinkEndsTheDownloadAndComesOutUnchanged(mayBlock: Bool) async throws {
        struct DiskIsFull: Error {}
        try await withEngine { _, connection in
            try connection.reply(200, [:], String(repeating: "x", count: 4 << 20))
        } _: { server, engine in
            var request = try HTTPRequest(.get, server)
            request.reply = .sink({ _ in throw DiskIsFull() }, mayBlock: mayBlock, accept: { _ in true })
            await #expect(throws: DiskIsFull.self) { _ = try await engine.send(request) }
        }
    }

    @Test func connectionsAreKept() async throws {
        try await withEngine { request, connection in
            try connection.readBody(of: request)
            try connection.reply(200)
        } _: { server, engine in
            for _ in 0..<10 { _ = try await engine.send(HTTPRequest(.put, server, "/x", body: .bytes([1, 2, 3]))) }
            #expect(server.connectionCount == 1)
        }
    }

    @Test func noMoreRequestsAreUnderWayThanAllowed() async throws {
        let atOnce = Mutex((now: 0, most: 0))
        try await withEngine(.plain { $0.maxRequestsPerOrigin = 3 }) { _, connection in
            atOnce.withLock { counts in
                counts.now += 1
                counts.most = max(counts.most, counts.now)
            }
            atOnce.withLock { $0.now -= 1 }
            try connection.reply(200)
        } _: { server, engine in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<50 {
                    group.addTask { _ = try await engine.send(HTTPRequest(.get, server)) }
                }
                try await group.waitForAll()
            }
            #expect(server.requests.count == 50)
            #expect(server.connectionCount <= 3)
            #expect(atOnce.withLock { $0.most } <= 3)
        }
    }

    @Test func aBodyWaitsForConsentWhenAsked() async throws {
        try await withEngine { _, connection in
            // The refusal comes before a single byte of the body.
            try connection.reply(403, ["Connection": "close"])
            connection.hangUp()
        } _: { server, engine in
            var request = try HTTPRequest(.put, server, "/x", body: .bytes(SampleBytes.make(1 << 20)))
            request.expectsContinue = true
            let response = try await engine.send(request)
            #expect(response.status == 403)
            #expect(response.bytesSent == 0)
            #expect(server.requests.first?.headers["expect"] == "100-continue")
        }
    }

    @Test func theRateIsLimited() async throws {
        try await withEngine(.plain { $0.sendLimit = 2 << 20 }) { request, connection in
            try connection.readBody(of: request)
            try connection.reply(200)
        } _: { server, engine in
            let start = ContinuousClock.now
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        let body = RequestBody.bytes(SampleBytes.make(256 << 10))
                        _ = try await engine.send(HTTPRequest(.put, server, "/x", body: body))
                    }
                }
                try await group.waitForAll()
            }
            // 1 MiB at 2 MiB a second, less the burst of a tenth of a second. It cannot be faster, only slower.
            #expect(ContinuousClock.now - start > .milliseconds(380))
        }
    }
}
