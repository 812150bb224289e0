import Foundation
import LFSCurl
import LFSHTTP
import LFSSystem
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct SinkTests {
    /// As many as ever may wait at once for what others fill.
    @Test func silentPipesHoldUpNoDownload() async throws {
        let hasEnded = DispatchSemaphore(value: 0)
        let silent = 200
        for _ in 0..<silent { BlockingPool.foreign.start { hasEnded.wait() } }
        defer { for _ in 0..<silent { hasEnded.signal() } }
        try await withEngine { _, connection in
            try connection.reply(200, [:], "content")
        } _: { server, engine in
            let taken = Mutex(0)
            var request = try HTTPRequest(.get, server)
            request.reply = .sink({ piece in taken.withLock { $0 += piece.count } }, accept: { _ in true })
            _ = try await engine.send(request)
            #expect(taken.withLock { $0 } == 7)
        }
    }

    /// No other thread is woken for bytes that only go into memory.
    @Test(arguments: [true, false]) func onlyASinkThatMayBlockHasAThreadOfItsOwn(mayBlock: Bool) async throws {
        try await withEngine { _, connection in
            try connection.reply(200, [:], "content")
        } _: { server, engine in
            let current: @Sendable () -> ObjectIdentifier = { ObjectIdentifier(Thread.current) }
            let threads = Mutex<[ObjectIdentifier]>([])
            var request = try HTTPRequest(.get, server)
            request.reply = .sink({ _ in threads.withLock { $0.append(current()) } }, mayBlock: mayBlock) { _ in
                threads.withLock { $0.append(current()) }
                return true
            }
            _ = try await engine.send(request)
            // The engine's thread first, then that of the sink.
            let seen = threads.withLock { $0 }
            #expect(seen.count >= 2 && (seen.first == seen.last) != mayBlock)
        }
    }
}
