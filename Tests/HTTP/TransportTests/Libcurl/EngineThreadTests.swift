import Foundation
import LFSHTTP
import LFSSystem
import Synchronization
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
        let places = try await withTaskExecutorPreference(engine.executor) {
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

    /// The time of an engine. A task lets it leap by an hour. After some more rounds of the engine, it leaps again.
    private final class LeapingTime: Sendable {
        private struct State {
            var hours = 0
            var rounds: Int?
        }

        private let start = ContinuousClock.now
        private let state = Mutex(State())

        var hours: Int { state.withLock { $0.hours } }

        func leap() {
            state.withLock { state in
                state.hours = 1
                state.rounds = 6
            }
        }

        @Sendable func now() -> ContinuousClock.Instant {
            state.withLock { state in
                if let rounds = state.rounds {
                    state.rounds = rounds > 0 ? rounds - 1 : nil
                    if rounds == 0 { state.hours = 2 }
                }
                return start + .seconds(3_600 * state.hours)
            }
        }
    }

    @Test("A request after a slow task has the whole time for its reply")
    func requestAfterSlowTask() async throws {
        let server = try ScriptedServer { _, connection in connection.hang() }
        defer { server.close() }
        let time = LeapingTime()
        let engine = CurlTransport(.plain(), time: time.now)
        let outcome = try await withTaskExecutorPreference(engine.executor) {
            time.leap()
            return try await code { try await engine.send(HTTPRequest(.get, server: server)) }
        }
        #expect(outcome == .timeout)
        #expect(time.hours == 2)
        await engine.shutdown()
    }

    @Test("A slow task does not end the requests that wait for a reply")
    func requestDuringSlowTask() async throws {
        let arrived = EventLog<Int>()
        let server = try ScriptedServer { _, connection in
            arrived.add(1)
            connection.hang()
        }
        defer { server.close() }
        let time = LeapingTime()
        let engine = CurlTransport(.plain(), time: time.now)
        let executor = try #require(engine.executor)
        async let pending = code { try await engine.send(HTTPRequest(.get, server: server)) }
        await arrived.wait { !$0.isEmpty }
        await withTaskExecutorPreference(executor) { time.leap() }
        let outcome = try await pending
        #expect(outcome == .timeout)
        #expect(time.hours == 2)
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
