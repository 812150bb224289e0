import Foundation
import LFSHTTPStorage
import LFSStorage
import Synchronization
import TestSupport
import Testing

@Suite("Credential cache", .timeLimit(.minutes(10))) struct CredentialsCacheTests {
    /// A source of numbered credentials that are valid for an hour. It can also fail.
    private final class Source: Sendable {
        struct State {
            var now = Date(timeIntervalSince1970: 1_000_000)
            var asked = 0
            var lifetime: TimeInterval? = 3_600
            var fails = false
        }
        let state = Mutex(State())

        var asked: Int { state.withLock { $0.asked } }

        func cache() -> CredentialsCache<TestCredentials> {
            CredentialsCache({ try self.next() }, now: { self.state.withLock { $0.now } })
        }

        func next() throws -> TestCredentials {
            try state.withLock { state in
                state.asked += 1
                if state.fails { throw StorageError(.unreachable, message: "The provider cannot be reached.") }
                return TestCredentials(
                    name: "A\(state.asked)", expiration: state.lifetime.map { state.now.addingTimeInterval($0) })
            }
        }

        func advance(by seconds: TimeInterval) { state.withLock { $0.now += seconds } }
        func fail(_ fails: Bool = true) { state.withLock { $0.fails = fails } }
    }

    private let source = Source()

    @Test func keepsCredentialsUntilFiveMinutesBeforeTheirEnd() async throws {
        let cache = source.cache()
        #expect(try await cache.credentials().name == "A1")
        source.advance(by: 3_299)
        #expect(try await cache.credentials().name == "A1")
        source.advance(by: 1)
        #expect(try await cache.credentials().name == "A2")
        #expect(source.asked == 2)
    }

    @Test func keepsCredentialsWithoutAnEndForEver() async throws {
        source.state.withLock { $0.lifetime = nil }
        let cache = source.cache()
        _ = try await cache.credentials()
        source.advance(by: 1e9)
        #expect(try await cache.credentials().name == "A1")
    }

    @Test func forgetsOnlyTheCredentialsThatWereUsed() async throws {
        let cache = source.cache()
        let first = try await cache.current()
        cache.invalidate(first)
        let second = try await cache.credentials()
        #expect(second.name == "A2")
        cache.invalidate(first)
        #expect(try await cache.credentials() == second)
    }

    @Test func asksOnceForManyWhoWereRefusedAlsoWhenTheSameCredentialsComeBack() async throws {
        let asked = Mutex(0)
        let cache = CredentialsCache {
            asked.withLock { $0 += 1 }
            return TestCredentials(name: "A")
        }
        let refused = try await cache.current()
        for _ in 0..<10 {
            cache.invalidate(refused)
            _ = try await cache.credentials()
        }
        #expect(asked.withLock { $0 } == 2)
    }

    @Test func keepsGoodCredentialsWhenTheProviderFailsAndAsksAgainAfterAPause() async throws {
        let cache = source.cache()
        _ = try await cache.credentials()
        source.fail()
        source.advance(by: 3_400)
        #expect(try await cache.credentials().name == "A1")
        #expect(try await cache.credentials().name == "A1")
        #expect(source.asked == 2)
        source.fail(false)
        source.advance(by: 30)
        #expect(try await cache.credentials().name == "A3")
    }

    @Test func failsWhenTheOldOnesHaveEnded() async throws {
        let cache = source.cache()
        _ = try await cache.credentials()
        source.fail()
        source.advance(by: 3_600)
        let error = await #expect(throws: StorageError.self) { try await cache.credentials() }
        #expect(error?.code == .unreachable)
        source.fail(false)
        #expect(try await cache.credentials().name == "A3")
    }

    @Test func refusesCredentialsThatHaveEndedAlready() async throws {
        source.state.withLock { $0.lifetime = 0 }
        let error = await #expect(throws: StorageError.self) { try await source.cache().credentials() }
        #expect(error?.code == .unauthorized)
    }

    @Test func doesNotAskForEveryRequestWhenCredentialsAreAlwaysShort() async throws {
        source.state.withLock { $0.lifetime = 60 }
        let cache = source.cache()
        for _ in 0..<5 { _ = try await cache.credentials() }
        #expect(source.asked == 1)
        source.advance(by: 30)
        #expect(try await cache.credentials().name == "A2")
    }

    @Test func asksOnceForManyWhoNeedThemAtOnce() async throws {
        let gate = Gate()
        let asked = Mutex(0)
        let cache = CredentialsCache {
            asked.withLock { $0 += 1 }
            await gate.pass()
            return TestCredentials(name: "A")
        }
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<50 { group.addTask { try await cache.credentials().name } }
            await gate.waitForArrival()
            try await yield(while: cache.waiterCount < 49)
            gate.open()
            for try await name in group { #expect(name == "A") }
        }
        #expect(asked.withLock { $0 } == 1)
    }

    @Test func letsAnotherTakeOverWhenTheOneWhoAsksIsCancelled() async throws {
        let gate = Gate()
        let asked = Mutex(0)
        let cache = CredentialsCache {
            if asked.withLock({
                $0 += 1; return $0
            }) == 1 {
                await gate.pass()
                try Task.checkCancellation()
            }
            return TestCredentials(name: "A")
        }
        let first = Task { try await cache.credentials() }
        await gate.waitForArrival()
        let second = Task { try await cache.credentials() }
        try await yield(while: cache.waiterCount < 1)
        first.cancel()
        gate.open()
        let error = await #expect(throws: StorageError.self) { try await first.value }
        #expect(error?.code == .cancelled)
        #expect(try await second.value.name == "A")
    }

    @Test func letsAWaitingCallerGoWhenItIsCancelled() async throws {
        let gate = Gate()
        let cache = CredentialsCache {
            await gate.pass()
            return TestCredentials(name: "A")
        }
        let first = Task { try await cache.credentials() }
        await gate.waitForArrival()
        let second = Task { try await cache.credentials() }
        try await yield(while: cache.waiterCount < 1)
        second.cancel()
        let error = await #expect(throws: StorageError.self) { try await second.value }
        #expect(error?.code == .cancelled)
        gate.open()
        #expect(try await first.value.name == "A")
    }
}

private struct TestCredentials: ExpiringCredentials, Equatable {
    var name: String
    var expiration: Date?
    var description: String { name }
}

/// A gate that holds callers until it opens.
private final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var hasArrived = false
        var held: [CheckedContinuation<Void, Never>] = []
        var watchers: [CheckedContinuation<Void, Never>] = []
    }
    private let state = Mutex(State())

    func pass() async {
        await withCheckedContinuation { continuation in
            let (isOpen, watchers) = state.withLock { state in
                state.hasArrived = true
                if !state.isOpen { state.held.append(continuation) }
                defer { state.watchers = [] }
                return (state.isOpen, state.watchers)
            }
            for watcher in watchers { watcher.resume() }
            if isOpen { continuation.resume() }
        }
    }

    func waitForArrival() async {
        await withCheckedContinuation { continuation in
            let hasArrived = state.withLock { state in
                if !state.hasArrived { state.watchers.append(continuation) }
                return state.hasArrived
            }
            if hasArrived { continuation.resume() }
        }
    }

    func open() {
        let held = state.withLock { state in
            state.isOpen = true
            defer { state.held = [] }
            return state.held
        }
        for continuation in held { continuation.resume() }
    }
}
