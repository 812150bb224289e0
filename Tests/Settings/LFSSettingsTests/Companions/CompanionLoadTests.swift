import Foundation
import GRDB
import LFSStorage
import LFSSystem
import LFSTesting
import Synchronization
import TestSupport
import Testing

@testable import LFSSettings

@Suite("Costs of a companion round", .timeLimit(.minutes(10)))
struct CompanionLoadTests {
    private let world = World()
    private let clock = ManualClock()

    // MARK: Reading

    @Test(
        "An automatic round reads only changed objects, and a requested round reads all",
        arguments: [false, true])
    func unchanged(inMemory: Bool) async throws {
        try await withTemporaryFolder { folder in
            let base: any RemoteStorage = try inMemory ? InMemoryStorage() : DirectoryStorage(at: folder)
            let counting = CountingDownloads(base: base)
            let writer = try await CompanionDevice(
                world, transports: [try RemoteStorageTransport(base, prefix: "settings")])
            let reader = try await CompanionDevice(
                world, transports: [try RemoteStorageTransport(counting, prefix: "settings")])
            let (theirs, own) = (try await writer.id, try await reader.id)
            try await writer.set(1)
            try await writer.synchronize()
            /// Runs a round and returns the objects that it read and the value after it.
            func round(isAsked: Bool = false) async throws -> (read: [String], value: Int?) {
                counting.reset()
                try await (isAsked ? reader.synchronize() : reader.synchronizeAutomatically())
                return (counting.names.sorted(), try await reader.get(0))
            }
            #expect(try await round() == ([theirs], 1))
            // The reader has published by now.
            #expect(try await round() == ([own], 1))
            for _ in 1...3 { #expect(try await round() == ([], 1)) }
            try await writer.set(2)
            try await writer.synchronize()
            #expect(try await round() == ([theirs], 2))
            #expect(try await round() == ([own], 2))
            #expect(try await round() == ([], 2))
            #expect(try await round(isAsked: true) == ([theirs, own].sorted(), 2))
            #expect(try await round() == ([], 2))
            world.pass(.seconds(86_400))
            #expect(try await round() == ([theirs, own].sorted(), 2))
        }
    }

    @Test("An object replaced between listing and download is read in the next round")
    func replaced() async throws {
        let network = InMemoryStorage()
        let writer = try await CompanionDevice(
            world, transports: [try RemoteStorageTransport(network, prefix: "settings")])
        let replacing = CountingDownloads(base: network)
        let reader = try await CompanionDevice(
            world, transports: [try RemoteStorageTransport(replacing, prefix: "settings")])
        let key = try ObjectKey("settings/\(try await writer.id)")
        try await writer.set(1)
        try await writer.synchronize()
        let old = try await content(of: key, in: network)
        try await writer.set(2)
        try await writer.synchronize()
        // The storage lists the new object and returns the old one.
        replacing.answer(with: old)
        try await reader.synchronizeAutomatically()
        #expect(try await reader.get(0) == 1)
        replacing.answer(with: nil)
        try await reader.synchronizeAutomatically()
        #expect(try await reader.get(0) == 2)
    }

    private func content(of key: ObjectKey, in storage: some RemoteStorage) async throws -> Data {
        let content = Mutex(Data())
        _ = try await storage.download(
            DownloadRequest(key), into: DownloadSink { bytes in content.withLock { $0.append(contentsOf: bytes) } })
        return content.withLock { $0 }
    }

    @Test("A refused value is examined again although its object has not changed")
    func again() async throws {
        let network = LoopbackNetwork()
        let device = try await CompanionDevice(world, transports: [LoopbackTransport(network)])
        let other = FileID.make()
        let ahead = FileID.make(at: Date(millisecondsSince1970: world.now + 25 * 3_600_000))
        let content = SerializedValue(serializer: "json", version: 1, bytes: Data("7".utf8))
        let state = CompanionState(
            deviceID: other, resetCount: 0,
            entries: ["one": CompanionState.Entry(updateID: ahead, content: content)])
        network.put(state.encoded(), of: other.text)
        for _ in 1...2 {
            try await device.synchronizeAutomatically()
            #expect(try device.problems == ["one: clockAhead"])
        }
        world.pass(.seconds(2 * 3_600))
        try await device.synchronizeAutomatically()
        #expect(try await device.get(0) == 7)
        #expect(try device.problems == [])
    }

    @Test("A value that is not newer than the local one is not decoded")
    func decoding() async throws {
        let count = Mutex(0)
        let key = StorageKey<Int>(
            "counted", serializer: .counting { count.withLock { $0 += 1 } }, sync: .automatic(maxByteCount: 100))
        let network = LoopbackNetwork()
        var all: [CompanionDevice] = []
        for _ in 1...2 {
            all.append(
                try await CompanionDevice(
                    world, transports: [LoopbackTransport(network)], catalog: StorageCatalog("app") { key }))
        }
        try await all[0].storage.set(1, for: key)
        try await synchronize(all)
        #expect(count.withLock { $0 } == 1)
        for _ in 1...3 { try await synchronize(all) }
        #expect(count.withLock { $0 } == 1)
    }

    // MARK: Wake-ups

    @Test("Changes of keys without automatic sync start no round")
    func unrelated() async throws {
        let (here, manual) = (StorageKey<Int>("here"), StorageKey<Int>("manual", sync: .manual))
        let catalog = StorageCatalog("app") {
            here
            manual
            CompanionDevice.keys
        }
        let recording = RecordingTransport(LoopbackTransport(LoopbackNetwork()))
        let (rounds, clock) = (EventLog<String>(), clock)
        recording.before { rounds.add($0) }
        let device = try await CompanionDevice(world, transports: [recording], catalog: catalog) {
            $0.clock = clock
            // The remainder of this interval never equals the settling time.
            $0.pollInterval = .milliseconds(7_100)
        }
        try await device.storage.start()
        await clock.waitForSleepers { $0.contains(.seconds(60)) }
        for number in 1...30 {
            try await device.storage.set(number, for: here)
            try await device.storage.remove(here)
            try await device.storage.set(number, for: manual)
            // If the change started a round, the round would run here.
            for _ in 1...20 { await Task.yield() }
            clock.advance(by: CompanionRunner.settling)
        }
        try await device.set(1)
        await clock.waitForSleepers { $0.contains(CompanionRunner.settling) }
        clock.advance(by: CompanionRunner.settling)
        await rounds.wait { $0.contains("publish") }
        #expect(rounds.events == ["states", "states", "publish"])
        try await device.storage.stop()
    }

    // MARK: Writing

    @Test("A large state is merged in transactions of at most 500 rows")
    func pieces() async throws {
        let note = StorageKey<Int>.Family(StorageKey("note", sync: .automatic(maxByteCount: 100)))
        let catalog = StorageCatalog("app") { note }
        let network = LoopbackNetwork()
        let (first, second) = (
            try await CompanionDevice(world, transports: [LoopbackTransport(network)], catalog: catalog),
            try await CompanionDevice(world, transports: [LoopbackTransport(network)], catalog: catalog)
        )
        try await first.storage.write { batch in
            for number in 1...1_200 { try batch.set(number, for: note["n\(number)"]) }
        }
        try await first.synchronize()
        let counter = CommitCounter()
        second.database.add(transactionObserver: counter, extent: .observerLifetime)
        try await second.synchronize()
        #expect(counter.rows == [500, 500, 200])
        #expect(try await second.storage.get(note["n1200"]) == 1_200)
    }

    @Test("A published key that moved or was renamed is withdrawn")
    func moved() async throws {
        let network = LoopbackNetwork()
        let device = try await CompanionDevice(world, transports: [LoopbackTransport(network)])
        for index in 0...2 { try await device.set(5, index: index) }
        try await device.synchronize()
        let keys = CompanionDevice.keys
        let moved = StorageKey<Int>("moved", domain: .memory, migrations: [.legacy(from: keys[2])])
        let catalog = StorageCatalog("app") {
            keys[0]
            StorageKey<Int>(keys[1].name, default: 0, domain: .memory)
            moved
        }
        let newer = try await CompanionDevice(
            world, transports: [LoopbackTransport(network)], database: device.database, catalog: catalog)
        try await newer.synchronize()
        let bytes = try #require(network.published[try await newer.id])
        #expect(try CompanionState(encoded: bytes, limits: CompanionLimits()).entries.keys.sorted() == ["one"])
    }

    // MARK: Timeouts

    private func device(_ transport: any CompanionTransport) async throws -> CompanionDevice {
        let clock = clock
        return try await CompanionDevice(world, transports: [transport]) {
            $0.clock = clock
            $0.companions.deadline = .seconds(300)
        }
    }

    @Test("A hanging transport is abandoned at the deadline with an error", arguments: ["states", "publish"])
    func hangs(call: String) async throws {
        let hanging = RecordingTransport(LoopbackTransport(LoopbackNetwork()))
        let (begun, never) = (Latch(), Latch())
        hanging.before { now in
            guard now == call else { return }
            begun.open()
            await never.wait()
            try Task.checkCancellation()
        }
        let device = try await device(hanging)
        try await device.set(1)
        async let round: Void = device.synchronize()
        await begun.wait()
        // The timers of earlier calls have ended by then.
        await clock.waitForSleepers { $0.contains(.seconds(300)) }
        clock.advance(by: .seconds(300))
        do {
            try await round
            Issue.record("No error was thrown.")
        } catch let error as SettingsError {
            #expect(error.code == .timedOut && error.message.contains("loopback"))
        }
        #expect(try device.status.failure == "timedOut")
        // The next round works once the transport does.
        never.open()
        try await device.synchronize()
        #expect(try device.status.failure == nil)
    }

    @Test("A slow transport is not abandoned while it keeps delivering states")
    func slow() async throws {
        let network = LoopbackNetwork()
        let others = try await devices(3, network: network, world: world)
        for (index, other) in others.enumerated() {
            try await other.set(index + 1, index: index)
            try await other.synchronize()
        }
        let slow = SlowTransport(base: LoopbackTransport(network), clock: clock)
        let device = try await device(slow)
        async let round: Void = device.synchronize()
        for _ in 1...3 {
            await clock.waitForSleepers { $0.count == 2 }
            clock.advance(by: .seconds(200))
        }
        try await round
        #expect(try await device.values() == [1, 2, 3])
    }
}

/// A storage that records the names of downloads. It can return other bytes than those it lists.
private final class CountingDownloads: StorageWrapper {
    let base: any RemoteStorage
    private let state = Mutex((names: [String](), answer: Data?.none))

    init(base: any RemoteStorage) { self.base = base }

    var names: [String] { state.withLock { $0.names } }
    func reset() { state.withLock { $0.names = [] } }
    func answer(with bytes: Data?) { state.withLock { $0.answer = bytes } }

    func download(_ request: DownloadRequest, into sink: DownloadSink) async throws -> RemoteObject {
        let answer = state.withLock { state in
            state.names += request.key.rawValue.split(separator: "/").suffix(1).map(String.init)
            return state.answer
        }
        guard let answer else { return try await base.download(request, into: sink) }
        try answer.withUnsafeBytes { try sink.write($0) }
        return try await base.head(request.key)
    }
}

/// An observer that counts the settings rows of each commit.
private final class CommitCounter: TransactionObserver, Sendable {
    private let state = Mutex((open: 0, rows: [Int]()))

    var rows: [Int] { state.withLock { $0.rows } }

    func observes(eventsOfKind eventKind: DatabaseEventKind) -> Bool { eventKind.tableName == "lfs_setting" }
    func databaseDidChange(with event: DatabaseEvent) { state.withLock { $0.open += 1 } }

    func databaseDidCommit(_ db: Database) {
        state.withLock { state in
            if state.open > 0 { state.rows.append(state.open) }
            state.open = 0
        }
    }

    func databaseDidRollback(_ db: Database) { state.withLock { $0.open = 0 } }
}

/// A transport that takes some minutes for each state.
private struct SlowTransport: CompanionTransport {
    let base: any CompanionTransport
    let clock: ManualClock
    var name: String { base.name }
    var limits: CompanionLimits { base.limits }
    var isConfidential: Bool { base.isConfidential }
    func publish(_ state: CompanionState) async throws { try await base.publish(state) }
    func states(
        for query: CompanionQuery, _ take: @escaping @Sendable (CompanionReading) async throws -> Void
    ) async throws {
        let clock = clock
        try await base.states(for: query) { reading in
            try await clock.sleep(for: .seconds(200))
            try await take(reading)
        }
    }
}

extension SettingSerializer<Int> {
    /// A serializer that reports each decoding.
    fileprivate static func counting(_ note: @escaping @Sendable () -> Void) -> SettingSerializer<Int> {
        .custom(
            id: "counting", version: 1, encode: { Data("\($0)".utf8) },
            decode: { bytes in
                note()
                guard let value = Int(String(decoding: bytes, as: UTF8.self)) else {
                    throw SettingsError(.undecodable, message: "No number.")
                }
                return value
            })
    }
}
