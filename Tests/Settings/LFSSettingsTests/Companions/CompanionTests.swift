import Crypto
import Foundation
import GRDB
import LFSStorage
import LFSSystem
import LFSTesting
import TestSupport
import Testing

@testable import LFSSettings

@Suite("Exchange of settings between devices", .timeLimit(.minutes(10)))
struct CompanionTests {
    @Test("Two devices share keys through a folder without a server")
    func example() async throws {
        try await withTemporaryFolder { folder in
            let theme = StorageKey<String>("view.theme", default: "system", sync: .automatic(maxByteCount: 100))
            let catalog = StorageCatalog("recipes") { theme }

            // Each device has its own database and shares the folder with the others.
            func open() async throws -> StorageRouter {
                let shared = try DirectoryStorage(at: folder.child("shared"))
                let companions = CompanionOptions([try RemoteStorageTransport(shared, prefix: "settings")])
                return try await StorageRouter.open(
                    try CompanionDevice.newDatabase(), catalogs: [catalog],
                    options: StorageOptions(companions: companions))
            }
            let (phone, desk) = (try await open(), try await open())

            try await phone.set("dark", for: theme)
            try await phone.synchronize()  // a running router does so automatically
            try await desk.synchronize()
            #expect(try await desk.get(theme) == "dark")

            try await desk.remove(theme)
            try await desk.synchronize()
            try await phone.synchronize()
            #expect(try await phone.get(theme) == "system")
        }
    }

    @Test("A new device publishes no defaults and changes no other device")
    func newDevice() async throws {
        let (network, world) = (LoopbackNetwork(), World())
        let first = try await devices(1, network: network, world: world)[0]
        try await first.set(5, index: 0)
        try await first.synchronize()
        let before = network.published
        let recording = RecordingTransport(LoopbackTransport(network))
        let new = try await CompanionDevice(world, transports: [recording])
        #expect(try await new.storage.get(CompanionDevice.keys[1]) == 0)
        try await new.synchronize()
        #expect(try await new.values() == [5, nil, nil])
        try await first.synchronize()
        #expect(try await first.values() == [5, nil, nil])
        let published = try #require(network.published[try await new.id])
        let state = try CompanionState(encoded: published, limits: recording.limits)
        #expect(state.entries.keys.sorted() == ["one"])
        #expect(network.published[try await first.id] == before[try await first.id])
    }

    @Test("A device publishes only after reading the others, and only if it has values")
    func publishLast() async throws {
        let (network, world) = (LoopbackNetwork(), World())
        let recording = RecordingTransport(LoopbackTransport(network))
        let device = try await CompanionDevice(world, transports: [recording])
        try await device.synchronize()
        #expect(recording.calls == ["states"] && network.published.isEmpty)
        try await device.set(1)
        recording.fail("states")
        await expectFailure(.transportFailed) { try await device.synchronize() }
        #expect(recording.calls == ["states", "states"] && network.published.isEmpty)
        #expect(try device.status.failure == "transportFailed" && device.status.failureCount == 1)
        recording.fail()
        try await device.synchronize()
        #expect(recording.calls.suffix(2) == ["states", "publish"] && network.published.count == 1)
        #expect(try device.status.failure == nil && device.status.failureCount == 0)
        // The same state is not published again.
        try await device.synchronize()
        #expect(recording.calls.last == "states")
    }

    @Test("A removal reaches other devices, and an older value does not return")
    func removals() async throws {
        let (network, world) = (LoopbackNetwork(), World())
        let all = try await devices(3, network: network, world: world)
        try await all[0].set(1)
        try await synchronize(all)
        let old = network.published
        world.pass(.seconds(1))
        try await all[1].remove(0)
        try await synchronize(all)
        for device in all { #expect(try await device.values() == [nil, nil, nil]) }
        for (id, bytes) in old { network.put(bytes, of: id) }
        try await synchronize(all)
        for device in all { #expect(try await device.values() == [nil, nil, nil]) }
        try await all[2].set(2)
        try await synchronize(all)
        for device in all { #expect(try await device.values() == [2, nil, nil]) }
    }

    @Test("A set refuses an oversized value, and a round over the limit still reads others")
    func oversized() async throws {
        let (network, world) = (LoopbackNetwork(), World())
        let family = StorageKey<String>.Family(StorageKey("note", sync: .automatic(maxByteCount: 1_000)))
        let catalog = StorageCatalog("app") {
            family
            CompanionDevice.keys
        }
        let transport = LoopbackTransport(network, limits: CompanionLimits(stateByteCount: 4_000))
        let device = try await CompanionDevice(world, transports: [transport], catalog: catalog)
        await expectFailure(.tooLarge) {
            try await device.storage.set(String(repeating: "x", count: 999), for: family["a"])
        }
        for id in ["a", "b", "c"] {
            try await device.storage.set(String(repeating: "x", count: 998), for: family[id])
            world.pass(.seconds(1))
        }
        try await device.synchronize()
        try await device.storage.set(String(repeating: "x", count: 998), for: family["d"])
        let other = try await CompanionDevice(world, transports: [LoopbackTransport(network)])
        try await other.set(7)
        try await other.synchronize()
        await expectFailure(.tooLarge) { try await device.synchronize() }
        #expect(try await device.get(0) == 7)
        // Among values of equal size the most recent one is left out.
        let published = try CompanionState(
            encoded: try #require(network.published[try await device.id]), limits: CompanionLimits())
        #expect(published.entries.keys.sorted() == ["note.a", "note.b", "note.c", "one"])
        try await device.storage.remove(family["d"])
        try await device.synchronize()
        #expect(try device.status.failure == nil)
    }

    @Test("Opening refuses keys that a transport does not support")
    func refusedAtOpen() async throws {
        let (network, world) = (LoopbackNetwork(), World())
        let secret: StorageKey<String> = StorageKey(
            "secret", security: .encrypted, sync: .automatic(maxByteCount: 100))
        let options: (inout StorageOptions) -> Void = { $0.rootKey = .custom { .init(data: Data(count: 32)) } }
        await expectFailure(.notConfidential) {
            _ = try await CompanionDevice(
                world, transports: [LoopbackTransport(network, isConfidential: false)],
                catalog: StorageCatalog("app") { secret },
                change: options)
        }
        await expectFailure(.illegalPair) {
            let filed: StorageKey<String> = StorageKey("filed", domain: .keychain(), sync: .manual)
            _ = try await CompanionDevice(
                world, transports: [LoopbackTransport(network)], catalog: StorageCatalog("app") { filed },
                change: options)
        }
        await expectFailure(.illegalPair) {
            let large = StorageKey<String>("large", sync: .automatic(maxByteCount: 2_000))
            _ = try await CompanionDevice(
                world, transports: [LoopbackTransport(network, limits: CompanionLimits(stateByteCount: 1_000))],
                catalog: StorageCatalog("app") { large })
        }
        // A state has more than its values: names, serializers and times.
        let exact = StorageKey<String>("exact", sync: .automatic(maxByteCount: 1_000))
        let id = try #require(FileID(text: "017f22e2-79b0-7fff-bfff-ffffffffffff"))
        let content = SerializedValue(serializer: exact.serializer.id, version: 1, bytes: Data(count: 1_000))
        let state = CompanionState(
            deviceID: id, resetCount: 0,
            entries: ["exact": CompanionState.Entry(updateID: id, content: content)])
        for (limit, fits) in [(state.byteCount, true), (state.byteCount - 1, false)] {
            let transport = LoopbackTransport(network, limits: CompanionLimits(stateByteCount: limit))
            func open() async throws {
                _ = try await CompanionDevice(world, transports: [transport], catalog: StorageCatalog("app") { exact })
            }
            if fits { try await open() } else { await expectFailure(.illegalPair) { try await open() } }
        }
        #expect(network.published.isEmpty)
    }

    @Test("An encrypted value travels a confidential transport and is encrypted on arrival")
    func secrets() async throws {
        let (network, world) = (LoopbackNetwork(), World())
        let secret: StorageKey<String> = StorageKey(
            "secret", security: .encrypted, sync: .automatic(maxByteCount: 100))
        let catalog = StorageCatalog("app") {
            secret
            CompanionDevice.keys
        }
        func open(_ byte: UInt8, isLocked: Bool = false) async throws -> CompanionDevice {
            try await CompanionDevice(world, transports: [LoopbackTransport(network)], catalog: catalog) {
                $0.rootKey = .custom {
                    if isLocked { throw SettingsError(.locked, message: "It is locked.") }
                    return .init(data: Data(repeating: byte, count: 32))
                }
            }
        }
        let (first, second) = (try await open(1), try await open(2))
        try await first.storage.set("canary", for: secret)
        try await synchronize([first, second])
        #expect(try await second.storage.get(secret) == "canary")
        let stored = try await second.database.read { db in
            try Data.fetchOne(db, sql: "SELECT value FROM lfs_setting WHERE name = 'secret'")
        }
        #expect(stored?.prefix(4) == Data("LFSE".utf8))
        // A device without its root key still syncs other values. The secret stays pending.
        let third = try await open(3, isLocked: true)
        try await second.set(4)
        try await synchronize([second, third])
        #expect(try await third.get(0) == 4)
        #expect(try third.problems == ["secret: locked"])
        #expect(!"\(try third.status) \(try await third.storage.audit())".contains("canary"))
    }

    @Test("A manual key travels only in a requested round")
    func manual() async throws {
        let (network, world, clock) = (LoopbackNetwork(), World(), ManualClock())
        let key = StorageKey<Int>("manual", sync: .manual)
        let catalog = StorageCatalog("app") {
            key
            CompanionDevice.keys
        }
        func open() async throws -> CompanionDevice {
            try await CompanionDevice(world, transports: [LoopbackTransport(network)], catalog: catalog) {
                $0.clock = clock
            }
        }
        let (first, second) = (try await open(), try await open())
        try await first.storage.set(1, for: key)
        try await synchronize([first, second])
        #expect(try await second.storage.get(key) == 1)
        world.pass(.seconds(1))
        try await first.storage.set(2, for: key)
        try await first.set(9)
        for runner in first.storage.companionRunners + second.storage.companionRunners {
            try await runner.synchronize(includesManual: false)
        }
        #expect(try await second.get(0) == 9)
        #expect(try await second.storage.get(key) == 1)
        let state = try CompanionState(
            encoded: try #require(network.published[try await first.id]), limits: CompanionLimits())
        #expect(state.entries["manual"]?.content?.bytes == Data("1".utf8))
        try await synchronize([first, second])
        #expect(try await second.storage.get(key) == 2)
    }

    @Test("Observers receive a value that arrives")
    func observers() async throws {
        let all = try await devices(2, network: LoopbackNetwork())
        var values = all[1].storage.values(of: CompanionDevice.keys[0]).makeAsyncIterator()
        #expect(try await values.next() == 0)
        try await all[0].set(3)
        try await synchronize(all)
        #expect(try await values.next() == 3)
        try await all[0].remove(0)
        try await synchronize(all)
        #expect(try await values.next() == 0)
    }
}
