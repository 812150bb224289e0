import Foundation
import LFSCurl
import LFSHTTP
import Synchronization
import TestSupport
import Testing

/// A peer that takes little at a time. The stall limit here is far shorter than the time it needs for the buffer that
/// libcurl fills at once, and than the time that the system's buffers take to run empty.
@Suite(.timeLimit(.minutes(10))) struct SlowReaderTests {
    private static let stallTimeout = Duration.seconds(4)

    @Test(arguments: [6_000, 30_000, 100_000], [false, true])
    func aSlowReaderGetsEverythingAtOnce(_ bytesPerSecond: Int, _ isFile: Bool) async throws {
        let bytes = SampleBytes.make(bytesPerSecond * 12)
        let taken = Mutex<[Int]>([])
        let server = try ScriptedServer(receiveBuffer: 4_096) { request, connection in
            let count = try connection.readBody(of: request, bytesPerSecond: bytesPerSecond)
            taken.withLock { $0.append(count) }
            try connection.reply(200)
        }
        let engine = CurlTransport(.plain { $0.stallTimeout = Self.stallTimeout })
        let progress = EventLog<Int64>()
        try await withTemporaryFolder { folder in
            let file = try openFile(bytes, in: folder)
            let body = isFile ? RequestBody.file(file, 0..<Int64(bytes.count)) : .bytes(bytes)
            var request = try HTTPRequest(.put, server, "/x", body: body)
            request.onProgress = { progress.add($0) }
            let response = try await engine.send(request)
            #expect(response.status == 200)
            #expect(response.bytesSent == Int64(bytes.count))
        }
        #expect(taken.withLock { $0 } == [bytes.count])
        #expect(progress.events.last == Int64(bytes.count))
        #expect(progress.events.count >= 5, "it is told while it goes on: \(progress.events)")
        #expect(progress.events == progress.events.sorted())
        await engine.shutdown()
        server.close()
    }

    @Test func aReaderThatStopsInTheMiddleStillTimesOut() async throws {
        let server = try ScriptedServer(receiveBuffer: 4_096) { _, connection in
            connection.readBody(20_000)
            connection.waitForEnd()
        }
        let engine = CurlTransport(.plain { $0.stallTimeout = Self.stallTimeout })
        let request = try HTTPRequest(.put, server, "/x", body: .bytes(SampleBytes.make(1 << 20)))
        try await #expect(code { try await engine.send(request) } == .timeout)
        await engine.shutdown()
        server.close()
    }
}
