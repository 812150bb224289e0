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
            let threads = Mutex<(engine: pthread_t?, sink: pthread_t?)>((nil, nil))
            var request = try HTTPRequest(.get, server)
            request.reply = .sink({ _ in threads.withLock { $0.sink = pthread_self() } }, mayBlock: mayBlock) { _ in
                threads.withLock { $0.engine = pthread_self() }
                return true
            }
            _ = try await engine.send(request)
            let (own, sink) = threads.withLock { $0 }
            #expect((own == sink) != mayBlock)
            #expect(own != nil && sink != nil)
        }
    }
}
