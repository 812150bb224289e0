import Foundation
import LFSCurl
import LFSHTTP
import Synchronization
import TestSupport
import Testing

/// Tests of a peer that reads slowly. The stall limit is far shorter than the time in which the peer reads libcurl's
/// buffer or the system's buffers.
@Suite(.timeLimit(.minutes(10))) struct SlowReaderTests {
    private static let stallTimeout = Duration.seconds(4)

    /// The time of a slow line. It advances with the bytes that the reader takes, so that a busy machine does not slow
    /// the line.
    private final class LineTime: Sendable {
        private let start = ContinuousClock.now
        private let passed = Mutex(Duration.zero)

        @Sendable func now() -> ContinuousClock.Instant { start + passed.withLock { $0 } }
        func pass(_ seconds: Double) { passed.withLock { $0 += .seconds(seconds) } }
    }

    @Test(arguments: [6_000, 30_000, 100_000], [false, true])
    func aSlowReaderGetsEverythingAtOnce(_ bytesPerSecond: Int, isFile: Bool) async throws {
        let bytes = SampleBytes.make(bytesPerSecond * 12)
        let taken = Mutex<[Int]>([])
        let time = LineTime()
        let progress = EventLog<Int64>()
        let isReported = DispatchSemaphore(value: 0)
        let server = try ScriptedServer(receiveBuffer: 4_096) { request, connection in
            var byteCount = 0
            var reports = 0
            let count = try connection.readBody(of: request, pieceSize: bytesPerSecond / 20) { more in
                byteCount += more
                time.pass(Double(more) / Double(bytesPerSecond))
                // The client must report progress every two seconds.
                guard reports < 5, byteCount > 2 * (reports + 1) * bytesPerSecond else { return }
                reports += 1
                // The system may acknowledge the last bytes a little later.
                for _ in 0..<60_000 {
                    if isReported.wait(timeout: .now() + .milliseconds(10)) == .success { break }
                    time.pass(0.025)
                }
            }
            taken.withLock { $0.append(count) }
            try connection.reply(200)
        }
        let engine = CurlTransport(.plain { $0.stallTimeout = Self.stallTimeout }, time: time.now)
        try await withTemporaryFolder { folder in
            let file = try openFile(bytes, in: folder)
            let body = isFile ? RequestBody.file(file, range: 0..<Int64(bytes.count)) : .bytes(bytes)
            var request = try HTTPRequest(.put, server: server, target: "/x", body: body)
            request.onProgress = { byteCount in
                progress.add(byteCount)
                isReported.signal()
            }
            let response = try await engine.send(request)
            #expect(response.status == 200)
            #expect(response.bytesSent == Int64(bytes.count))
        }
        #expect(taken.withLock { $0 } == [bytes.count])
        #expect(progress.events.last == Int64(bytes.count))
        #expect(progress.events.count >= 5, "progress is reported during the transfer: \(progress.events)")
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
        let request = try HTTPRequest(.put, server: server, target: "/x", body: .bytes(SampleBytes.make(1 << 20)))
        try await #expect(code { try await engine.send(request) } == .timeout)
        await engine.shutdown()
        server.close()
    }
}
