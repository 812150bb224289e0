import Foundation
import LFSHTTP
import LFSSystem
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(10))) struct SinkTests {
    /// Any number of threads may wait at the same time for data from other programs.
    @Test(arguments: Engine.all) func silentPipesHoldUpNoDownload(_ kind: Engine) async throws {
        let hasEnded = DispatchSemaphore(value: 0)
        let silent = 200
        for _ in 0..<silent { BlockingPool.foreign.start { hasEnded.wait() } }
        defer { for _ in 0..<silent { hasEnded.signal() } }
        try await withEngine(kind) { _, connection in
            try connection.reply(200, headers: [:], "content")
        } _: { server, engine in
            let taken = Mutex(0)
            var request = try HTTPRequest(.get, server: server)
            request.reply = .sink({ piece in taken.withLock { $0 += piece.count } }, accept: { _ in true })
            _ = try await engine.send(request)
            #expect(taken.withLock { $0 } == 7)
        }
    }

    /// A sink that waits for a slow reader must not hold up the engine's other requests.
    @Test(arguments: Engine.all) func aSinkThatMayBlockHasAThreadOfItsOwn(_ kind: Engine) async throws {
        let seen = try await threads(kind, mayBlock: true)
        #expect(seen.sink != nil && seen.sink != seen.engine)
    }

    /// Bytes that only go into memory wake no other thread.
    @Test(arguments: Engine.keeping(.oneThread)) func aSinkInMemoryRunsOnTheEngineThread(_ kind: Engine) async throws {
        let seen = try await threads(kind, mayBlock: false)
        #expect(seen.sink != nil && seen.sink == seen.engine)
    }

    /// Returns the threads that took the head and the body of one reply.
    private func threads(
        _ kind: Engine, mayBlock: Bool
    ) async throws -> (engine: ObjectIdentifier?, sink: ObjectIdentifier?) {
        let engineThread = Mutex<Thread?>(nil)
        let sinkThread = Mutex<Thread?>(nil)
        try await withEngine(kind) { _, connection in
            try connection.reply(200, headers: [:], "content")
        } _: { server, engine in
            let current: @Sendable () -> Thread = { Thread.current }
            var request = try HTTPRequest(.get, server: server)
            request.reply = .sink({ _ in sinkThread.withLock { $0 = current() } }, mayBlock: mayBlock) { _ in
                engineThread.withLock { $0 = current() }
                return true
            }
            _ = try await engine.send(request)
        }
        // The mutexes keep both objects, so no thread that starts later has the identity of one that ended.
        return (
            engineThread.withLock { $0.map(ObjectIdentifier.init) },
            sinkThread.withLock { $0.map(ObjectIdentifier.init) }
        )
    }
}
