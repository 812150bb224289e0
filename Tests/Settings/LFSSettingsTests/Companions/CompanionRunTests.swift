import Foundation
import GRDB
import LFSDatabase
import LFSStorage
import LFSSystem
import LFSTesting
import Synchronization
import TestSupport
import Testing

@testable import LFSSettings

@Suite("Running companions", .timeLimit(.minutes(10)))
struct CompanionRunTests {
    private let network = LoopbackNetwork()
    private let world = World()
    private let clock = ManualClock()

    private func device(
        _ transport: (any CompanionTransport)? = nil, database: (any DatabaseWriter)? = nil,
        change: (inout StorageOptions) -> Void = { _ in }
    ) async throws -> CompanionDevice {
        try await CompanionDevice(world, transports: [transport ?? LoopbackTransport(network)], database: database) {
            $0.clock = clock
            // A freely running clock reaches this deadline only after all other times.
            $0.companions.deadline = .seconds(10_000_000)
            change(&$0)
        }
    }

    /// Runs a body while the clock advances automatically.
    private func whileTimePasses(_ body: @escaping @Sendable () async throws -> Void) async throws {
        let clock = clock
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await clock.runFreely() }
            try await body()
            group.cancelAll()
        }
    }

    @Test("A value set on one device reaches the observers of the other")
    func bothRun() async throws {
        let (first, second) = (try await device(), try await device())
        for device in [first, second] { try await device.storage.start() }
        let key = CompanionDevice.keys[0]
        try await whileTimePasses {
            var (here, there) = (
                first.storage.values(of: key).makeAsyncIterator(), second.storage.values(of: key).makeAsyncIterator()
            )
            #expect(try await here.next() == 0)
            #expect(try await there.next() == 0)
            try await first.set(1)
            #expect(try await there.next() == 1)
            #expect(try await here.next() == 1)
            try await second.set(2)
            #expect(try await here.next() == 2)
            #expect(try await there.next() == 2)
            try await second.remove(0)
            #expect(try await here.next() == 0)
        }
        for device in [first, second] { try await device.storage.stop() }
        #expect(first.storage.observerCount == 0)
    }

    @Test("A transport without change notifications is polled once per interval")
    func interval() async throws {
        let silent = RecordingTransport(SilentTransport(base: LoopbackTransport(network)))
        let (first, second) = (try await device(), try await device(silent))
        let rounds = EventLog<String>()
        silent.before { rounds.add($0) }
        try await second.storage.start()
        await clock.waitForSleepers { $0.contains(.seconds(60)) }
        try await first.set(4)
        try await first.synchronize()
        #expect(rounds.events == ["states"])
        var values = second.storage.values(of: CompanionDevice.keys[0]).makeAsyncIterator()
        #expect(try await values.next() == 0)
        clock.advance(by: .seconds(60))
        await clock.waitForSleepers { $0.contains(CompanionRunner.settling) }
        clock.advance(by: CompanionRunner.settling)
        #expect(try await values.next() == 4)
        try await second.storage.stop()
    }

    @Test("A failing transport is retried with doubling delays and does not block the app")
    func backoff() async throws {
        let failing = RecordingTransport(LoopbackTransport(network))
        failing.fail("states")
        let log = LogLines()
        let device = try await device(failing) {
            $0.companions.random = { 1 }
            $0.logger = log.logger
        }
        try await device.set(1)
        try await device.storage.start()
        for seconds in [1, 2, 4, 8] {
            // The deadline of the call has been cancelled by then.
            await clock.waitForSleepers { $0.contains(.seconds(seconds)) && $0.count == 2 && $0[1] < .seconds(60) }
            clock.advance(by: .seconds(seconds))
        }
        await clock.waitForSleepers { $0.contains(.seconds(16)) }
        let status = try await #require(device.storage.audit().companions.first)
        #expect(status.failureCount == 5 && status.failure == "transportFailed" && status.completedAt == nil)
        #expect(status.failureMessage?.contains("retried") == true)
        #expect(log.all.filter { $0.contains("loopback failed") }.count == 1)
        // Reads and writes continue, and a change does not cause an earlier retry.
        try await device.set(2)
        #expect(failing.calls.count == 5)
        failing.fail()
        let published = EventLog<String>()
        failing.before { published.add($0) }
        clock.advance(by: .seconds(16))
        await published.wait { $0.contains("publish") }
        await clock.waitForSleepers { $0.contains(.seconds(60)) || $0.contains(CompanionRunner.settling) }
        #expect(try device.status.failureCount == 0)
        #expect(try device.status.completedAt == Date(millisecondsSince1970: world.now))
        try await device.storage.stop()
    }

    @Test("Intervals of zero are raised to a minimum, so retries never spin")
    func noTimes() async throws {
        for fails in [true, false] {
            let transport = RecordingTransport(SilentTransport(base: LoopbackTransport(network)))
            if fails { transport.fail("states") }
            let device = try await device(transport) {
                $0.companions.interval = .zero
                $0.companions.backoff = Backoff(base: .zero, cap: .zero)
                $0.pollInterval = .seconds(7)
            }
            let (rounds, end) = (EventLog<String>(), Latch())
            transport.before { call in
                rounds.add(call)
                if rounds.events.count > 20 { await end.wait() }
            }
            try await device.storage.start()
            let clock = clock
            await race(
                { await clock.waitForSleepers { $0.contains(.seconds(1)) } }, { await rounds.wait { $0.count > 20 } })
            #expect(rounds.events == ["states"])
            end.open()
            try await device.storage.stop()
        }
    }

    @Test("Only the type of a transport's error is reported, never its text")
    func secretFailure() async throws {
        struct Failure: Error, CustomStringConvertible {
            var description: String { "https://user:canary@example.org/?sig=canary" }
        }
        let failing = RecordingTransport(LoopbackTransport(network))
        failing.before { _ in throw Failure() }
        let log = LogLines()
        let device = try await device(failing) { $0.logger = log.logger }
        try await device.storage.start()
        await clock.waitForSleepers { $0.count == 2 && $0[1] < .seconds(60) }
        try await device.storage.stop()
        var text = ""
        do { try await device.synchronize() } catch { text = "\(error) \(String(reflecting: error))" }
        #expect(text.contains("Failure"))
        text += "\(try device.status) \(log.all)"
        #expect(log.all.contains { $0.contains("Failure") } && !text.contains("canary"), "\(text)")
    }

    @Test("Stopping cancels the transport's call and leaves nothing running")
    func stop() async throws {
        let folder = InMemoryStorage()
        let gated = GatedStorage(folder, on: [.list])
        let device = try await device(try RemoteStorageTransport(gated, prefix: "settings"))
        try await device.set(1)
        try await device.storage.start()
        await gated.waitForArrivals(1)
        try await device.storage.stop()
        #expect(gated.waiting.isEmpty && device.storage.observerCount == 0)
        #expect(try device.status.failureCount == 0)
        // The value that was set is not lost.
        gated.open()
        let again = try await self.device(
            try RemoteStorageTransport(gated, prefix: "settings"), database: device.database)
        let other = try await self.device(try RemoteStorageTransport(gated, prefix: "settings"))
        try await synchronize([again, other])
        #expect(try await other.get(0) == 1)
    }

    @Test("A second concurrent stop also waits for the end of the run")
    func stopTwice() async throws {
        let transport = RecordingTransport(LoopbackTransport(network))
        let (calls, gate) = (EventLog<String>(), Latch())
        transport.before { call in
            calls.add(call)
            await gate.waitThroughCancellation()
        }
        let device = try await device(transport)
        let storage = device.storage
        try await storage.start()
        await calls.wait { !$0.isEmpty }
        let ended = EventLog<Int>()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for number in 0..<2 {
                group.addTask {
                    try await storage.stop()
                    ended.add(number)
                }
            }
            await race(
                { while storage.endLatch.waiterCount < 2, !Task.isCancelled { await Task.yield() } },
                { await ended.wait { !$0.isEmpty } })
            #expect(ended.events.isEmpty)
            gate.open()
            try await group.waitForAll()
        }
        #expect(storage.observerCount == 0)
    }

    @Test("After a reset the running router continues without the other devices")
    func reset() async throws {
        let (first, second) = (try await device(), try await device())
        try await second.set(1)
        try await synchronize([second, first])
        try await first.storage.start()
        let key = CompanionDevice.keys[0]
        let (network, id) = (network, try await first.id)
        try await whileTimePasses {
            var values = first.storage.valuesIfPresent(of: key).makeAsyncIterator()
            #expect(try await values.next() == 1)
            var changes = LoopbackTransport(network).changes().makeAsyncIterator()
            try await first.storage.removeAll()
            #expect(try await values.next() == .some(nil))
            while network.published[id]?.count != CompanionState.frame { _ = await changes.next() }
            try await first.set(3)
            #expect(try await values.next() == 3)
        }
        try await first.storage.stop()
        #expect(try first.status.hasLeft)
        try await synchronize([second])
        #expect(try await second.get(0) == 1)
    }

    @Test("A set concurrent with a merge is not lost")
    func beside() async throws {
        let all = [try await device(), try await device()]
        for round in 1...40 {
            try await all[1].set(round, index: 1)
            try await all[1].synchronize()
            world.pass(.seconds(1))
            // The set and the merge run in separate transactions, in either order.
            async let merge: Void = all[0].synchronize()
            try await all[0].set(1_000 + round, index: 1)
            try await merge
            try await synchronize(all)
            for device in all { #expect(try await device.get(1) == 1_000 + round) }
        }
    }

    @Test("A merge does not overwrite a set that commits after the merge's read")
    func between() async throws {
        try await withPlace { place in
            let (first, second) = (try await device(), try await device(database: place.database))
            for device in [second, first] {
                try await device.set(1)
                try await device.synchronize()
                world.pass(.seconds(1))
            }
            let (isInside, mayCommit) = (Latch(), DispatchSemaphore(value: 0))
            async let setting: Void = place.database.write { db in
                isInside.open()
                mayCommit.wait()
                try second.storage.set(2, for: CompanionDevice.keys[0], in: db)
            }
            await isInside.wait()
            async let merging: Void = second.synchronize()
            // The merge has found that the other device's value is newer and waits for the writer.
            try await yield(while: second.storage.access.runner.pendingCount == 0)
            world.pass(.seconds(1))
            mayCommit.signal()
            try await setting
            try await merging
            #expect(try await second.get(0) == 2)
            try await synchronize([second, first])
            #expect(try await first.get(0) == 2)
        }
    }

    @Test("Two routers of one database and a third device converge")
    func twoRouters() async throws {
        try await withPlace { place in
            let shared = try DirectoryStorage(at: place.folder.child("shared"))
            let databases = [place.database, try place.otherDatabase()]
            var pair: [CompanionDevice] = []
            for database in databases {
                pair.append(
                    try await device(try RemoteStorageTransport(shared, prefix: "settings"), database: database))
            }
            let third = try await device(try RemoteStorageTransport(shared, prefix: "settings"))
            for round in 1...15 {
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for (index, device) in (pair + [third]).enumerated() {
                        group.addTask {
                            try await device.set(100 * round + index, index: index)
                            try await device.synchronize()
                        }
                    }
                    try await group.waitForAll()
                }
                world.pass(.seconds(1))
            }
            try await synchronize(pair + [third])
            for device in pair + [third] { #expect(try await device.values() == [1_500, 1_501, 1_502]) }
            #expect(try names(in: place.folder.child("shared").child("settings")).count == 2)
            try databases[1].close()
        }
    }
}

/// A transport without change notifications.
private struct SilentTransport: CompanionTransport {
    let base: any CompanionTransport
    var name: String { "silent" }
    var limits: CompanionLimits { base.limits }
    var isConfidential: Bool { base.isConfidential }
    func publish(_ state: CompanionState) async throws { try await base.publish(state) }
    func states(
        for query: CompanionQuery, _ take: @escaping @Sendable (CompanionReading) async throws -> Void
    ) async throws {
        try await base.states(for: query, take)
    }
}
