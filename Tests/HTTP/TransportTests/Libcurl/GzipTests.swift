import Foundation
import LFSCurl
import LFSHTTP
import Synchronization
import TestSupport
import Testing

/// Tests of replies that are compressed because the request allows it.
@Suite(.timeLimit(.minutes(10))) struct GzipTests {
    private static let lines = (0..<4_000).map { "line \($0 &* 7_919)\n" }.joined()

    /// Returns the bytes packed by the command `gzip`.
    private func pack(_ bytes: Data) async throws -> [UInt8] {
        try await withTemporaryFolder { folder in
            let (plain, packed) = (folder.child("plain"), folder.child("packed"))
            try bytes.write(to: plain)
            var run = ToolRun("gzip", arguments: ["-c", plain.path])
            run.output = packed
            #expect(try await run.finish() == 0)
            return Array(try Data(contentsOf: packed))
        }
    }

    private func run(
        _ bytes: [UInt8], encoding: String = "gzip", acceptsGzip: Bool = true,
        reply: ResponseBody = .bytes(limit: 1 << 20)
    ) async throws -> Result<HTTPResponse, HTTPError> {
        var result: Result<HTTPResponse, HTTPError>?
        try await withEngine(.curl) { request, connection in
            #expect(request.headers["accept-encoding"] == (acceptsGzip ? "gzip" : nil))
            try connection.send(
                "HTTP/1.1 200 OK\r\nContent-Encoding: \(encoding)\r\nTransfer-Encoding: chunked\r\n\r\n")
            for start in stride(from: 0, to: bytes.count, by: 1_000) {
                let piece = Array(bytes[start..<min(start + 1_000, bytes.count)])
                try connection.send(Array("\(String(piece.count, radix: 16))\r\n".utf8) + piece + [13, 10])
            }
            try connection.send("0\r\n\r\n")
        } _: { server, engine in
            var request = try HTTPRequest(.get, server: server)
            request.acceptsGzip = acceptsGzip
            request.reply = reply
            do {
                result = .success(try await engine.send(request))
            } catch let error as HTTPError {
                result = .failure(error)
            }
        }
        return try #require(result)
    }

    @Test func theBodyIsAsItWasBefore() async throws {
        let packed = try await pack(Data(Self.lines.utf8))
        #expect(try await run(packed).get().body == Array(Self.lines.utf8))
        let taken = Mutex<[UInt8]>([])
        let sink = ResponseBody.sink({ piece in taken.withLock { $0 += piece } }, accept: { _ in true })
        _ = try await run(packed, encoding: "gzip", acceptsGzip: true, reply: sink).get()
        #expect(taken.withLock { $0 } == Array(Self.lines.utf8))
    }

    @Test func aRequestThatHasNotAskedGetsTheBytesAsTheyAre() async throws {
        let packed = try await pack(Data(Self.lines.utf8))
        #expect(try await run(packed, acceptsGzip: false).get().body == packed)
    }

    @Test func aHandleThatHasAskedOnceDoesNotGoOn() async throws {
        let packed = try await pack(Data(Self.lines.utf8))
        try await withEngine(.curl) { _, connection in
            try connection.send("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: \(packed.count)\r\n\r\n")
            try connection.send(packed)
        } _: { server, engine in
            for acceptsGzip in [true, false, true, false] {
                var request = try HTTPRequest(.get, server: server)
                request.acceptsGzip = acceptsGzip
                #expect(try await engine.send(request).body == (acceptsGzip ? Array(Self.lines.utf8) : packed))
            }
            #expect(server.requests.map { $0.headers["accept-encoding"] } == ["gzip", nil, "gzip", nil])
        }
    }

    @Test func limitsCountWhatHasUnfolded() async throws {
        let bomb = try await pack(Data(count: 32 << 20))
        #expect(bomb.count < 100_000)
        guard case .failure(let error) = try await run(bomb) else {
            Issue.record("It was taken.")
            return
        }
        #expect(error.code == .invalidReply && error.message.contains("1048576"))
    }

    @Test func damagedBytesAreAnError() async throws {
        var packed = try await pack(Data(Self.lines.utf8))
        packed[packed.count / 2] ^= 0x55
        guard case .failure(let error) = try await run(packed) else {
            Issue.record("It was taken.")
            return
        }
        #expect(error.code == .invalidReply)
    }

    /// HTTP and libcurl treat the cut body as complete, so a reader of lines must recognize the last line.
    @Test func bytesThatAreCutOffBringNoMoreThanTheirPart() async throws {
        let packed = try await pack(Data(Self.lines.utf8))
        switch try await run(Array(packed.prefix(packed.count / 2))) {
        case .success(let response):
            #expect(response.body.count < Self.lines.utf8.count && Array(Self.lines.utf8).starts(with: response.body))
        case .failure(let error): #expect(error.code == .invalidReply || error.code == .connectionLost)
        }
    }
}
