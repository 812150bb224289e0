import Foundation
import LFSHTTP
import LFSSystem
import TestSupport
import Testing

@testable import LFSCurl

@Suite("Tasks on the engine's thread", .timeLimit(.minutes(10)))
struct EngineThreadTests {
    /// Gets an event when a thread of an engine has ended.
    private let ends = EventLog<Int>()

    private func engine() -> CurlTransport {
        CurlTransport(.plain()) { [ends] body throws(SystemError) in
            try SystemThread.start("lfs-http") {
                Thread.current.threadDictionary[Self.mark] = true
                body()
                ends.add(1)
            }
        }
    }

    /// A key in the dictionary of an engine's thread.
    private static let mark = "engine"

    /// Returns whether an engine of the test has started the current thread. It is a function of its own, because
    /// asynchronous code may not ask for its thread.
    private func isOnEngine() -> Bool { Thread.current.threadDictionary[Self.mark] != nil }

    @Test("A task runs on the engine's thread before and after its request")
    func request() async throws {
        let server = try ScriptedServer { _, connection in try connection.reply(200) }
        defer { server.close() }
        let engine = engine()
        let places = try await withTaskExecutorPreference(try #require(engine.executor)) {
            let before = isOnEngine()
            let status = try await engine.send(HTTPRequest(.get, server: server)).status
            return (before: before, status: status, after: isOnEngine())
        }
        #expect(places.before && places.after)
        #expect(places.status == 200)
        await engine.shutdown()
    }

    @Test("A task that yields without an end does not stop a request")
    func yielding() async throws {
        let server = try ScriptedServer { _, connection in try connection.reply(200) }
        defer { server.close() }
        let engine = engine()
        let executor = try #require(engine.executor)
        let done = Latch()
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask(executorPreference: executor) {
                while !done.isOpen { await Task.yield() }
            }
            let status = try await engine.send(HTTPRequest(.get, server: server)).status
            #expect(status == 200)
            done.open()
            try await group.waitForAll()
        }
        await engine.shutdown()
    }

    @Test("A task goes on after its engine has shut down")
    func shutdown() async throws {
        let engine = engine()
        let executor = try #require(engine.executor)
        let places = await withTaskExecutorPreference(executor) {
            let before = isOnEngine()
            await engine.shutdown()
            return [before, isOnEngine()]
        }
        #expect(places == [true, false])
        #expect(await withTaskExecutorPreference(executor) { isOnEngine() } == false)
    }

    @Test("A task of an engine that has no thread runs on another one")
    func withoutThread() async throws {
        let engine = CurlTransport(.plain()) { _ throws(SystemError) in
            throw SystemError(call: "pthread_create", path: "lfs-http", errno: EAGAIN)
        }
        let executor = try #require(engine.executor)
        #expect(await withTaskExecutorPreference(executor) { 1 } == 1)
        await engine.shutdown()
    }

    @Test("The thread of an engine ends with the last reference to it, also after a task")
    func release() async throws {
        try await runOneTask()
        await ends.wait { $0.count == 1 }
    }

    private func runOneTask() async throws {
        let engine = engine()
        let executor = try #require(engine.executor)
        #expect(await withTaskExecutorPreference(executor) { isOnEngine() })
        withExtendedLifetime(engine) {}
    }
}
