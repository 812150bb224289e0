import Foundation
import LFSHTTP
import TestSupport
import Testing

/// Tasks that prefer the engine's thread.
@Suite(.timeLimit(.minutes(1))) struct LoopExecutorTests {
    @Test func aTaskRunsOnTheEnginesThread() async throws {
        try await withEngine { _, connection in
            try connection.reply(200)
        } _: { server, engine in
            let names = try await withTaskExecutorPreference(engine.executor) {
                let before = try Self.threadName()
                _ = try await engine.send(HTTPRequest(.get, server))
                return [before, try Self.threadName()]
            }
            #expect(names == ["lfs-http", "lfs-http"])
            try #expect(Self.threadName() != "lfs-http")
        }
    }

    @Test func aTaskOutlivesTheEngineThatItPrefers() async throws {
        try await withEngine { _, connection in
            try connection.reply(200)
        } _: { server, engine in
            let outcome = try await withTaskExecutorPreference(engine.executor) {
                _ = try await engine.send(HTTPRequest(.get, server))
                await engine.shutdown()
                return try await code { try await engine.send(HTTPRequest(.get, server)) }
            }
            #expect(outcome == .closed)
        }
    }

    private static func threadName() throws -> String {
        try String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8).trimmingCharacters(in: .newlines)
    }
}
