import Crypto
import Foundation
import GRDB
import LFSStorage
import LFSTesting
import Synchronization
import TestSupport
import Testing

@testable import LFSSettings

@Suite("Resets and restored copies of companion devices", .timeLimit(.minutes(10)))
struct CompanionResetTests {
    private func published(_ network: LoopbackNetwork, device: CompanionDevice) async throws -> CompanionState {
        try CompanionState(
            encoded: try #require(network.published[try await device.id]), limits: CompanionLimits())
    }

    @Test("A reset withdraws the published values and leaves those of other devices")
    func reset() async throws {
        let (network, world) = (LoopbackNetwork(), World())
        let all = try await devices(2, network: network, world: world)
        try await all[0].set(1)
        try await all[0].set(2, index: 1)
        try await synchronize(all)
        try await all[0].storage.removeAll()
        try await synchronize(all)
        #expect(try await all[0].values() == [nil, nil, nil])
        #expect(try await all[1].values() == [1, 2, nil])
        #expect(try await published(network, device: all[0]).entries.isEmpty)
        #expect(try all[0].status.hasLeft)
        // Values of the next user are not published either, until the router is reopened.
        try await all[0].set(9)
        try await synchronize(all)
        #expect(try await all[1].values() == [1, 2, nil])
    }

    @Test("A router opened after a reset reads other devices and publishes no old value")
    func openedAgain() async throws {
        for isAlone in [true, false] {
            let (network, world) = (LoopbackNetwork(), World())
            let all = try await devices(2, network: network, world: world)
            try await all[0].set(1)
            try await synchronize(isAlone ? [all[0]] : all)
            // The process ends before it withdraws anything.
            try await all[0].storage.removeAll()
            let again = try await CompanionDevice(
                world, transports: [LoopbackTransport(network)], database: all[0].database)
            try await again.synchronize()
            #expect(try await again.get(0) == (isAlone ? nil : 1))
            #expect(try await published(network, device: again).entries.keys.sorted() == (isAlone ? [] : ["one"]))
            try await again.set(3)
            try await synchronize([again, all[1]])
            #expect(try await all[1].get(0) == 3)
            // The earlier router leaves the published state alone.
            try await all[0].synchronize()
            #expect(try await published(network, device: again).entries.keys.sorted() == ["one"])
        }
    }

    @Test("A reset during a round restores nothing and is not undone", arguments: ["states", "publish"])
    func between(call: String) async throws {
        let (network, world) = (LoopbackNetwork(), World())
        let other = try await devices(1, network: network, world: world)[0]
        try await other.set(7, index: 2)
        try await other.synchronize()
        let recording = RecordingTransport(LoopbackTransport(network))
        let device = try await CompanionDevice(world, transports: [recording])
        try await device.set(1)
        let storage = device.storage
        let isRemoved = Mutex(false)
        recording.before { now in
            let isFirst = isRemoved.withLock { isRemoved in
                defer { isRemoved = isRemoved || now == call }
                return now == call && !isRemoved
            }
            if isFirst { try await storage.removeAll() }
        }
        try await device.synchronize()
        #expect(try device.status.hasLeft)
        // A state published before the round noticed the removal is withdrawn at once.
        #expect(network.published[try await device.id].map { $0.count == CompanionState.frame } ?? true)
        try await synchronize([device, other])
        #expect(try await device.values() == [nil, nil, nil])
        #expect(network.published[try await device.id].map { $0.count == CompanionState.frame } ?? true)
    }

    @Test("A round publishes no earlier value after a reset at any of its clock reads")
    func nothingGoesOut() async throws {
        var hasRemoved = true
        var moment = 0
        while hasRemoved {
            moment += 1
            let transport = KeepingTransport(removingAtLook: moment)
            try await withTemporaryFolder { folder in
                let database = try transport.makeDatabase(in: folder)
                let device = try await CompanionDevice(
                    World(), transports: [transport], database: database,
                    change: { options in
                        let now = options.now
                        options.now = {
                            transport.look()
                            return now()
                        }
                    })
                try await device.set(1)
                transport.begin { try database.write { db in try device.storage.removeAll(in: db) } }
                try await device.synchronize()
                try database.close()
            }
            hasRemoved = try transport.hasRemoved.get()
            let late = transport.publishedSinceRemoval.map { $0.entries.keys.sorted() }
            #expect(late == (hasRemoved ? [] : [["one"]]), "at look \(moment)")
        }
        // The round reads the clock several times.
        #expect(moment > 2)
    }

    @Test("An unreadable published state is withdrawn", arguments: ["damaged", "of a later form"])
    func unreadable(what: String) async throws {
        let (network, world) = (LoopbackNetwork(), World())
        let device = try await devices(1, network: network, world: world)[0]
        try await device.set(1)
        try await device.synchronize()
        let id = try await device.id
        var bytes = try #require(network.published[id])
        if what == "damaged" {
            bytes[40] ^= 1
        } else {
            bytes = bytes.dropLast(32)
            bytes[4] = 9
            bytes += SHA256.hash(data: bytes)
        }
        network.put(bytes, of: id)
        try await device.storage.removeAll()
        for _ in 1...2 {
            try await device.synchronize()
            #expect(try await published(network, device: device).entries.isEmpty)
        }
        #expect(try device.status.hasLeft)
    }

    @Test("A published state is withdrawn even if the listing omits it")
    func unlisted() async throws {
        let (storage, world) = (InMemoryStorage(), World())
        let blind = try RemoteStorageTransport(BlindStorage(base: storage), prefix: "settings")
        let device = try await CompanionDevice(world, transports: [blind])
        try await device.set(1)
        try await device.synchronize()
        let key = try ObjectKey("settings/\(try await device.id)")
        #expect(try await storage.head(key).byteCount > CompanionState.frame)
        try await device.storage.removeAll()
        try await device.synchronize()
        #expect(try await storage.head(key).byteCount == CompanionState.frame)
    }

    @Test("Copies of one database converge although they publish under one id")
    func copies() async throws {
        let (network, world) = (LoopbackNetwork(), World())
        let first = try await devices(1, network: network, world: world)[0]
        try await first.set(1)
        try await first.synchronize()
        let copy = try CompanionDevice.newDatabase()
        try (try #require(first.database as? DatabaseQueue)).backup(to: copy)
        let second = try await CompanionDevice(world, transports: [LoopbackTransport(network)], database: copy)
        world.pass(.seconds(1))
        try await first.set(2, index: 1)
        try await second.set(3, index: 2)
        try await synchronize([first, second], rounds: 3)
        #expect(try await first.values() == [1, 2, 3])
        #expect(try await second.values() == [1, 2, 3])
    }

    @Test("A restored copy of the database receives the values it published since")
    func restored() async throws {
        let (network, world) = (LoopbackNetwork(), World())
        let device = try await devices(1, network: network, world: world)[0]
        try await device.set(1)
        let backup = try CompanionDevice.newDatabase()
        try (try #require(device.database as? DatabaseQueue)).backup(to: backup)
        world.pass(.seconds(1))
        try await device.set(2)
        try await device.synchronize()
        let again = try await CompanionDevice(world, transports: [LoopbackTransport(network)], database: backup)
        try await again.synchronize()
        #expect(try await again.get(0) == 2)
    }

    @Test("A migrated value loses to a set value and applies where no value is set")
    func migrated() async throws {
        let (network, world) = (LoopbackNetwork(), World())
        let other = try await devices(1, network: network, world: world)[0]
        try await other.set(5)
        try await other.synchronize()
        let legacy = StorageKey<Int>("legacy")
        let keys = CompanionDevice.keys.map { key in
            StorageKey<Int>(
                key.name, default: 0, sync: key.sync, migrations: key.name == "three" ? [] : [.legacy(from: legacy)])
        }
        let database = try CompanionDevice.newDatabase()
        let before = try await StorageRouter.open(database, catalogs: [StorageCatalog("app") { legacy }])
        try await before.set(1, for: legacy)
        world.pass(.seconds(3_600))
        let new = try await CompanionDevice(
            world, transports: [LoopbackTransport(network)], database: database,
            catalog: StorageCatalog("app") { keys[0] })
        #expect(try await new.storage.get(keys[0]) == 1)
        try await synchronize([new, other])
        #expect(try await new.storage.get(keys[0]) == 5)
        #expect(try await other.get(0) == 5)
    }

    @Test("A catalog step's value loses to a later set and wins over the value it replaces")
    func steps() async throws {
        let (network, world) = (LoopbackNetwork(), World())
        let all = try await devices(2, network: network, world: world)
        for index in 0...1 { try await all[0].set(10, index: index) }
        try await synchronize(all)
        world.pass(.seconds(1))
        try await all[1].set(7, index: 1)
        try await all[1].synchronize()
        world.pass(.seconds(3_600))
        let keys = CompanionDevice.keys
        let catalog = StorageCatalog(
            "app", version: 2, steps: [.from(1) { batch in for key in keys.prefix(2) { try batch.set(60, for: key) } }]
        ) { keys }
        let newer = try await CompanionDevice(
            world, transports: [LoopbackTransport(network)], database: all[0].database, catalog: catalog)
        #expect(try await newer.values() == [60, 60, nil])
        try await synchronize([newer, all[1]])
        #expect(try await newer.values() == [60, 7, nil])
        #expect(try await all[1].values() == [60, 7, nil])
    }

    @Test("A set outranks the value it replaces although the clock went back")
    func clocks() async throws {
        let (network, world) = (LoopbackNetwork(), World())
        let all = try await devices(2, network: network, world: world)
        try await all[0].set(1)
        try await synchronize(all)
        all[0].skew.set(.seconds(-20 * 3_600))
        try await all[0].set(2)
        try await synchronize(all)
        #expect(try await all[1].get(0) == 2)
        try await all[0].remove(0)
        try await synchronize(all)
        #expect(try await all[1].get(0) == nil)
    }

    @Test("A clock days behind reverts no value", arguments: [false, true])
    func behind(isDays: Bool) async throws {
        let (network, world) = (LoopbackNetwork(), World())
        let all = try await devices(2, network: network, world: world)
        try await all[0].set(1)
        try await synchronize(all)
        world.pass(.seconds(4 * 86_400))
        try await all[1].set(2)
        try await all[1].set(7, index: 1)
        try await synchronize(all)
        world.pass(.seconds(60))
        // The first device sets a value that the second has not received. The second has set another key since.
        try await all[0].set(3)
        try await all[1].set(8, index: 1)
        try await all[1].synchronize()
        all[0].skew.set(isDays ? .seconds(-3 * 86_400) : .milliseconds(-world.now))
        await #expect { try await all[0].synchronize() } throws: { ($0 as? SettingsError)?.code == .clockAhead }
        all[0].skew.set(.zero)
        try await synchronize(all)
        for device in all { #expect(try await device.values() == [3, 8, nil]) }
    }

    @Test(
        "A future timestamp on two devices is corrected once and reverts no later value",
        arguments: [true, false])
    func bothAhead(isAsked: Bool) async throws {
        let (network, world) = (LoopbackNetwork(), World())
        let all = try await devices(2, network: network, world: world)
        func synchronize(_ devices: [CompanionDevice]) async throws {
            for device in devices + devices {
                try await (isAsked ? device.synchronize() : device.synchronizeAutomatically())
            }
        }
        for device in all { device.skew.set(.seconds(3 * 86_400)) }
        try await all[0].set(1)
        try await synchronize(all)
        #expect(try await all[1].get(0) == 1)
        for device in all { device.skew.set(.zero) }
        try await synchronize([all[0]])
        world.pass(.seconds(60))
        try await all[0].set(2)
        try await synchronize([all[0]])
        world.pass(.seconds(60))
        try await synchronize(Array(all.reversed()))
        for device in all { #expect(try await device.get(0) == 2) }
        // The value also travels without the device that set it.
        for device in all { device.skew.set(.seconds(3 * 86_400)) }
        try await all[0].set(3, index: 1)
        try await synchronize(all)
        for device in all { device.skew.set(.zero) }
        let third = try await devices(1, network: network, world: world)[0]
        try await synchronize([all[1], third])
        #expect(try await third.get(1) == 3)
    }

    @Test("A value set while a clock was ahead outranks the value it replaced")
    func replacedAhead() async throws {
        let all = try await devices(2, network: LoopbackNetwork())
        all[1].skew.set(.seconds(10 * 3_600))
        try await all[1].set(1)
        try await all[1].synchronizeAutomatically()
        for _ in 1...2 { try await all[0].synchronizeAutomatically() }
        all[0].skew.set(.seconds(3 * 86_400))
        try await all[0].set(2)
        all[0].skew.set(.zero)
        for _ in 1...2 {
            for device in all { try await device.synchronizeAutomatically() }
        }
        for device in all { #expect(try await device.get(0) == 2) }
    }

    @Test("A value set with a clock days ahead is refused until the clock is right")
    func daysAhead() async throws {
        let (network, world) = (LoopbackNetwork(), World())
        let all = try await devices(2, network: network, world: world)
        try await all[1].set(1, index: 1)
        all[0].skew.set(.seconds(3 * 86_400))
        try await all[0].set(2)
        try await synchronize(all)
        #expect(try await all[1].values() == [nil, 1, nil])
        #expect(try all[1].problems == ["one: clockAhead"])
        #expect(try await all[0].values() == [2, 1, nil])
        all[0].skew.set(.zero)
        try await synchronize(all)
        for device in all { #expect(try await device.values() == [2, 1, nil]) }
        #expect(try all[1].problems == [])
        // Its corrected time is not later than other current values.
        world.pass(.seconds(1))
        try await all[1].set(3)
        try await synchronize(all)
        for device in all { #expect(try await device.values() == [3, 1, nil]) }
    }
}

/// A storage with an empty listing, like one that lists an object only some time after its upload.
private struct BlindStorage: StorageWrapper {
    let base: any RemoteStorage
    func list(_ request: ListRequest) async throws -> ListPage { ListPage(objects: [], next: nil) }
}

/// A transport that keeps all published states. The device removes everything at its n-th clock read. The mutex owns
/// the state.
private final class KeepingTransport: CompanionTransport {
    private struct State {
        /// The states published since the removal, if there was one.
        var published: [CompanionState] = []
        var remove: (@Sendable () throws -> Void)?
        var looks = 0
        var hasRemoved: Result<Bool, any Error> = .success(false)
    }

    private let state = Mutex(State())
    private let moment: Int

    init(removingAtLook moment: Int) { self.moment = moment }

    let name = "kept"
    let isConfidential = true
    var limits: CompanionLimits { LoopbackTransport(LoopbackNetwork()).limits }
    var publishedSinceRemoval: [CompanionState] { state.withLock { $0.published } }
    var hasRemoved: Result<Bool, any Error> { state.withLock { $0.hasRemoved } }

    /// Makes a database that accepts writes while another connection reads.
    func makeDatabase(in folder: URL) throws -> DatabasePool {
        let database = try DatabasePool(path: folder.appendingPathComponent("app.sqlite").path)
        var migrator = DatabaseMigrator()
        migrator.registerLFSSettingsMigrations()
        try migrator.migrate(database)
        return database
    }

    func begin(_ remove: @escaping @Sendable () throws -> Void) { state.withLock { $0.remove = remove } }

    func look() {
        let remove = state.withLock { state -> (@Sendable () throws -> Void)? in
            guard let remove = state.remove else { return nil }
            state.looks += 1
            return state.looks == moment ? remove : nil
        }
        guard let remove else { return }
        let result = Result {
            try remove()
            return true
        }
        state.withLock { state in
            state.published = []
            state.hasRemoved = result
        }
    }

    func publish(_ published: CompanionState) async throws { state.withLock { $0.published.append(published) } }

    func states(
        for query: CompanionQuery, _ take: @escaping @Sendable (CompanionReading) async throws -> Void
    ) async throws {}
}
