import Foundation
import LFSHTTP
import Synchronization
import TestSupport
import Testing

/// Tests of successful requests.
@Suite(.timeLimit(.minutes(10))) struct ExchangeTests {
    @Test(arguments: Engine.all) func aReplyHasStatusFieldsAndBody(_ kind: Engine) async throws {
        try await withEngine(kind) { _, connection in
            try connection.reply(404, headers: ["ETag": "\"x\"", "Content-Type": "text/plain"], "not here")
        } _: { server, engine in
            let response = try await engine.send(HTTPRequest(.get, server: server, target: "/a%20b?c=d%2Fe"))
            #expect(response.status == 404)
            #expect(response.headers["etag"] == "\"x\"")
            #expect(String(decoding: response.body, as: UTF8.self) == "not here")
            #expect(server.requests.first?.target == "/a%20b?c=d%2Fe")
        }
    }

    @Test("A path with doubled slashes and encoded bytes is sent unchanged", arguments: Engine.all)
    func encodedPath(_ kind: Engine) async throws {
        try await withEngine(kind) { _, connection in
            try connection.reply(200)
        } _: { server, engine in
            let target = "/a//b/%7E%2F%20~..x?q=%2F&empty="
            _ = try await engine.send(HTTPRequest(.get, server: server, target: target))
            #expect(server.requests.first?.target == target)
        }
    }

    @Test(arguments: Engine.keeping(.dotSegments)) func aPathGoesOutUntouched(_ kind: Engine) async throws {
        try await withEngine(kind) { _, connection in
            try connection.reply(200)
        } _: { server, engine in
            _ = try await engine.send(HTTPRequest(.get, server: server, target: "/a//b/../c/./%7E"))
            #expect(server.requests.first?.target == "/a//b/../c/./%7E")
        }
    }

    @Test(arguments: Engine.all, [HTTPRequest.Method.put, .post])
    func bytesGoOutWithTheirLength(_ kind: Engine, method: HTTPRequest.Method) async throws {
        let received = Mutex<[UInt8]>([])
        let bytes = SampleBytes.make(300_000)
        try await withEngine(kind) { request, connection in
            let body = try connection.readBody(of: request)
            received.withLock { $0 = body }
            try connection.reply(200)
        } _: { server, engine in
            var request = try HTTPRequest(method, server: server, target: "/x", body: .bytes(bytes))
            try request.headers.set("x-empty", value: "")
            let response = try await engine.send(request)
            #expect(response.bytesSent == 300_000)
            #expect(received.withLock { $0 } == bytes)
            let seen = try #require(server.requests.first)
            #expect(seen.method == method.rawValue)
            #expect(seen.headers["content-length"] == "300000")
            #expect(seen.headers["transfer-encoding"] == nil)
            #expect(seen.headers["expect"] == nil)
            #expect(seen.headers["x-empty"] == "")
        }
    }

    @Test("No field is added that the server could answer to", arguments: Engine.keeping(.noAcceptField))
    func accept(_ kind: Engine) async throws {
        try await withEngine(kind) { _, connection in
            try connection.reply(200)
        } _: { server, engine in
            _ = try await engine.send(HTTPRequest(.get, server: server))
            #expect(server.requests.first?.headers["accept"] == nil)
        }
    }

    @Test("An object with a Content-Encoding is returned as it is", arguments: Engine.keeping(.encodedObjects))
    func encodedObject(_ kind: Engine) async throws {
        try await withEngine(kind) { _, connection in
            try connection.reply(200, headers: ["Content-Encoding": "gzip"], "not gzip")
        } _: { server, engine in
            let response = try await engine.send(HTTPRequest(.get, server: server))
            #expect(String(decoding: response.body, as: UTF8.self) == "not gzip")
        }
    }

    @Test(arguments: Engine.all) func anEmptyBodyHasALengthToo(_ kind: Engine) async throws {
        try await withEngine(kind) { _, connection in
            try connection.reply(200)
        } _: { server, engine in
            _ = try await engine.send(HTTPRequest(.put, server: server, target: "/x", body: .bytes([])))
            #expect(server.requests.first?.headers["content-length"] == "0")
        }
    }

    @Test(arguments: Engine.all) func aRangeOfAFileGoesOut(_ kind: Engine) async throws {
        let received = Mutex<[UInt8]>([])
        let bytes = SampleBytes.make(3 << 20)
        try await withTemporaryFolder { folder in
            let file = try openFile(bytes, in: folder)
            try await withEngine(kind) { request, connection in
                let body = try connection.readBody(of: request)
                received.withLock { $0 = body }
                try connection.reply(200)
            } _: { server, engine in
                let progress = Mutex<[Int64]>([])
                var request = try HTTPRequest(
                    .put, server: server, target: "/x", body: .file(file, range: 1_000..<2_500_000))
                request.onProgress = { count in progress.withLock { $0.append(count) } }
                _ = try await engine.send(request)
                #expect(received.withLock { $0 } == Array(bytes[1_000..<2_500_000]))
                let counts = progress.withLock { $0 }
                #expect(counts == counts.sorted())
                #expect(counts.last == 2_499_000)
            }
        }
    }

    @Test(arguments: Engine.all, [true, false])
    func aSinkTakesTheBytesOnlyIfTheHeadIsAccepted(_ kind: Engine, mayBlock: Bool) async throws {
        let bytes = SampleBytes.make(5 << 20)
        try await withEngine(kind) { request, connection in
            let isFound = request.target == "/found"
            try connection.send(
                "HTTP/1.1 \(isFound ? 206 : 404) Text\r\nContent-Length: \(isFound ? bytes.count : 4)\r\n\r\n")
            try connection.send(isFound ? bytes : Array("gone".utf8))
        } _: { server, engine in
            for target in ["/found", "/missing"] {
                let taken = Mutex<[UInt8]>([])
                var request = try HTTPRequest(.get, server: server, target: target)
                request.reply = .sink(
                    { piece in taken.withLock { $0.append(contentsOf: piece) } }, mayBlock: mayBlock,
                    accept: { $0.status == 206 })
                let response = try await engine.send(request)
                #expect(taken.withLock { $0 } == (target == "/found" ? bytes : []))
                #expect(response.body == (target == "/found" ? [] : Array("gone".utf8)))
            }
        }
    }

    @Test(arguments: Engine.keeping(.backPressure)) func aSlowSinkHoldsItsConnectionBackAndNothingElse(_ kind: Engine)
        async throws
    {
        let bytes = SampleBytes.make(16 << 20)
        let sent = Mutex(0)
        try await withEngine(kind) { request, connection in
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
            var large = try HTTPRequest(.get, server: server, target: "/large")
            large.reply = .sink(
                { piece in
                    if !isOpen.withLock({ $0 }) { gate.wait() }
                    taken.withLock { $0.append(contentsOf: piece) }
                }, accept: { _ in true })
            async let whole = engine.send(large)
            // While the sink blocks, other requests continue.
            for _ in 0..<20 { _ = try await engine.send(HTTPRequest(.get, server: server, target: "/small")) }
            #expect(sent.withLock { $0 } < bytes.count)
            isOpen.withLock { $0 = true }
            gate.signal()
            _ = try await whole
            #expect(taken.withLock { $0 } == bytes)
        }
    }

    @Test(arguments: Engine.all, [true, false])
    func anErrorOfASinkEndsTheDownloadAndComesOutUnchanged(_ kind: Engine, mayBlock: Bool) async throws {
        struct DiskIsFull: Error {}
        try await withEngine(kind) { _, connection in
            try connection.reply(200, headers: [:], String(repeating: "x", count: 4 << 20))
        } _: { server, engine in
            var request = try HTTPRequest(.get, server: server)
            request.reply = .sink({ _ in throw DiskIsFull() }, mayBlock: mayBlock, accept: { _ in true })
            await #expect(throws: DiskIsFull.self) { _ = try await engine.send(request) }
        }
    }

    @Test(arguments: Engine.all) func connectionsAreKept(_ kind: Engine) async throws {
        try await withEngine(kind) { request, connection in
            try connection.readBody(of: request)
            try connection.reply(200)
        } _: { server, engine in
            for _ in 0..<10 {
                _ = try await engine.send(HTTPRequest(.put, server: server, target: "/x", body: .bytes([1, 2, 3])))
            }
            #expect(server.connectionCount == 1)
        }
    }

    @Test(arguments: Engine.all) func noMoreRequestsAreUnderWayThanAllowed(_ kind: Engine) async throws {
        let atOnce = Mutex((now: 0, most: 0))
        try await withEngine(kind, options: .plain { $0.maxRequestsPerOrigin = 3 }) { _, connection in
            atOnce.withLock { counts in
                counts.now += 1
                counts.most = max(counts.most, counts.now)
            }
            atOnce.withLock { $0.now -= 1 }
            try connection.reply(200)
        } _: { server, engine in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<50 {
                    group.addTask { _ = try await engine.send(HTTPRequest(.get, server: server)) }
                }
                try await group.waitForAll()
            }
            #expect(server.requests.count == 50)
            #expect(server.connectionCount <= 3)
            #expect(atOnce.withLock { $0.most } <= 3)
        }
    }

    @Test(arguments: Engine.keeping(.consent)) func aBodyWaitsForConsentWhenAsked(_ kind: Engine) async throws {
        try await withEngine(kind) { _, connection in
            // The refusal comes before any byte of the body.
            try connection.reply(403, headers: ["Connection": "close"])
            connection.hangUp()
        } _: { server, engine in
            var request = try HTTPRequest(.put, server: server, target: "/x", body: .bytes(SampleBytes.make(1 << 20)))
            request.expectsContinue = true
            let response = try await engine.send(request)
            #expect(response.status == 403)
            #expect(response.bytesSent == 0)
            #expect(server.requests.first?.headers["expect"] == "100-continue")
        }
    }

    @Test(arguments: Engine.keeping(.rateLimits)) func theRateIsLimited(_ kind: Engine) async throws {
        try await withEngine(kind, options: .plain { $0.sendLimit = 2 << 20 }) { request, connection in
            try connection.readBody(of: request)
            try connection.reply(200)
        } _: { server, engine in
            let start = ContinuousClock.now
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        let body = RequestBody.bytes(SampleBytes.make(256 << 10))
                        _ = try await engine.send(HTTPRequest(.put, server: server, target: "/x", body: body))
                    }
                }
                try await group.waitForAll()
            }
            // 1 MiB at 2 MiB per second, less the burst of a tenth of a second. The transfer cannot be faster than
            // that.
            #expect(ContinuousClock.now - start > .milliseconds(380))
        }
    }
}
