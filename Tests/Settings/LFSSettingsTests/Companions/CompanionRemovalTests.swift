import Foundation
import GRDB
import LFSStorage
import LFSTesting
import TestSupport
import Testing

@testable import LFSSettings

@Suite("Removals on companion devices", .timeLimit(.minutes(10)))
struct CompanionRemovalTests {
    private let network = LoopbackNetwork()
    private let world = World()
    private let note = StorageKey<String>.Family(StorageKey("note", sync: .automatic(maxByteCount: 1_000)))

    private var catalog: StorageCatalog {
        StorageCatalog("app") {
            note
            CompanionDevice.keys
        }
    }

    private func device(
        limit: Int = 1 << 20, database: (any DatabaseWriter)? = nil, catalog: StorageCatalog? = nil
    ) async throws -> CompanionDevice {
        try await CompanionDevice(
            world, transports: [LoopbackTransport(network, limits: CompanionLimits(stateByteCount: limit))],
            database: database,
            catalog: catalog ?? self.catalog)
    }

    private func published(_ device: CompanionDevice) async throws -> CompanionState {
        try CompanionState(encoded: try #require(network.published[try await device.id]), limits: CompanionLimits())
    }

    private func removals(_ device: CompanionDevice) async throws -> Int {
        try await device.database.read { db in
            try #require(try Int.fetchOne(db, sql: "SELECT count(*) FROM lfs_setting WHERE isRemoved = 1"))
        }
    }

    private static let halfYear = Duration.seconds(181 * 86_400)

    // MARK: Precedence

    @Test("A removal outranks an earlier set of another device, even one not yet received")
    func unseen() async throws {
        let all = try await devices(2, network: network, world: world)
        // In the second round the key was already removed on this device.
        for value in 1...2 {
            try await all[0].set(value)
            try await all[0].synchronize()
            world.pass(.seconds(1))
            try await all[1].remove(0)
            try await synchronize(all)
            for device in all { #expect(try await device.get(0) == nil) }
            world.pass(.seconds(1))
        }
        try await all[0].set(3)
        try await synchronize(all)
        for device in all { #expect(try await device.get(0) == 3) }
    }

    @Test("A migration does not restore a value that any device removed", arguments: [false, true])
    func migration(isElsewhere: Bool) async throws {
        let legacy = StorageKey<Int>("legacy")
        let old = StorageCatalog("app") {
            legacy
            CompanionDevice.keys
        }
        let device = try await device(catalog: old)
        try await device.storage.set(1, for: legacy)
        if isElsewhere {
            let other = try await self.device()
            try await other.remove(0)
            try await synchronize([other, device])
        } else {
            try await device.set(5)
            try await device.remove(0)
        }
        let keys = CompanionDevice.keys.map { key in
            StorageKey<Int>(
                key.name, default: 0, sync: key.sync, migrations: key.name == "one" ? [.legacy(from: legacy)] : [])
        }
        for _ in 1...2 {
            let newer = try await self.device(database: device.database, catalog: StorageCatalog("app") { keys })
            #expect(try await newer.storage.getIfPresent(keys[0]) == nil)
        }
        // The migration is complete, so the earlier value no longer exists.
        let again = try await self.device(database: device.database, catalog: old)
        #expect(try await again.storage.getIfPresent(legacy) == nil)
    }

    @Test("A catalog step cannot set a value that the user removed, only one a step removed")
    func step() async throws {
        let device = try await device()
        for index in 0...2 { try await device.set(1, index: index) }
        try await device.remove(0)
        let keys = CompanionDevice.keys
        let catalog = StorageCatalog(
            "app", version: 3,
            steps: [
                .from(1) { batch in
                    try batch.remove(keys[1])
                    try batch.remove(keys[2])
                    try batch.set(7, for: keys[1])
                },
                .from(2) { batch in for key in keys { try batch.set(8, for: key) } },
            ]
        ) {
            note
            keys
        }
        let newer = try await self.device(database: device.database, catalog: catalog)
        #expect(try await newer.values() == [nil, 8, 8])
        // The app may set the value again.
        try await newer.set(9)
        #expect(try await newer.get(0) == 9)
    }

    // MARK: Size limit

    @Test("The oldest removals are left out so that values fit within the limit")
    func manyRemovals() async throws {
        let device = try await device(limit: 4_000)
        for number in 1...300 {
            try await device.storage.remove(note["n\(number)"])
            world.pass(.seconds(1))
        }
        try await device.set(5)
        try await device.synchronize()
        let state = try await published(device)
        #expect(state.entries["one"]?.content?.bytes == Data("5".utf8))
        let removed = Set(state.entries.keys.filter { $0.hasPrefix("note.") })
        #expect(removed.count > 50 && state.byteCount <= 4_000 && state.byteCount > 3_900)
        #expect(removed == Set(((301 - removed.count)...300).map { note["n\($0)"].name }))
        #expect(try device.status.failure == nil && device.problems == [])
        // The next state is the same, so it is not published again.
        let before = network.published
        try await device.synchronize()
        #expect(network.published == before)
    }

    @Test("Removals received from other devices do not displace values")
    func theirRemovals() async throws {
        let all = [try await device(), try await device(), try await device(limit: 30_000)]
        for (index, device) in all.enumerated() {
            try await device.storage.write { [note] batch in
                for number in 1...400 { try batch.remove(note["n\(index)-\(number)"]) }
            }
            try await device.set(index, index: index)
            world.pass(.seconds(1))
            try await device.synchronize()
        }
        #expect(try await removals(all[2]) == 1_200)
        #expect(try all[2].status.failure == nil)
        #expect(try await published(all[2]).byteCount <= 30_000)
        try await synchronize([all[0]])
        #expect(try await all[0].values() == [0, 1, 2])
    }

    @Test("A removal that another device has not received is published first")
    func neededRemoval() async throws {
        let (device, other) = (try await device(limit: 4_000), try await device())
        try await other.storage.set("theirs", for: note["kept"])
        try await other.synchronize()
        world.pass(.seconds(1))
        try await device.storage.remove(note["kept"])
        for number in 1...300 {
            world.pass(.seconds(1))
            try await device.storage.remove(note["n\(number)"])
        }
        try await synchronize([device, other])
        #expect(try await other.storage.getIfPresent(note["kept"]) == nil)
    }

    @Test("The largest value over the limit is reported, and the other values are published")
    func values() async throws {
        let (device, other) = (try await device(limit: 4_000), try await device())
        try await device.synchronize()
        for id in ["a", "b", "c"] { try await device.storage.set(String(repeating: "x", count: 998), for: note[id]) }
        for index in 0...2 { try await device.set(index, index: index) }
        let large = StorageKey<String>("large", sync: .automatic(maxByteCount: 3_500))
        let wider = StorageCatalog("app") {
            note
            large
            CompanionDevice.keys
        }
        let newer = try await self.device(limit: 4_000, database: device.database, catalog: wider)
        try await newer.storage.set(String(repeating: "y", count: 3_000), for: large)
        for _ in 1...2 {
            await #expect {
                try await newer.synchronize()
            } throws: { error in
                let error = error as? SettingsError
                return error?.code == .tooLarge && error?.message.contains("large") == true
            }
        }
        #expect(try newer.problems == ["large: tooLarge"])
        #expect(try newer.status.failure == "tooLarge")
        try await other.synchronize()
        #expect(try await other.values() == [0, 1, 2])
        #expect(try await other.storage.get(note["c"]).count == 998)
        // The local value is kept. It is published once there is room.
        #expect(try await newer.storage.get(large).count == 3_000)
        for id in ["a", "b", "c"] { try await newer.storage.remove(note[id]) }
        try await newer.synchronize()
        #expect(try newer.problems == [] && newer.status.failure == nil)
        #expect(try await published(newer).entries["large"]?.content?.bytes.count == 3_002)
    }

    // MARK: Forgetting

    @Test("All devices forget a removal half a year after all have received it")
    func forgotten() async throws {
        let all = try await devices(3, network: network, world: world)
        try await all[0].set(1)
        try await all[0].set(2, index: 1)
        try await synchronize(all)
        world.pass(.seconds(1))
        try await all[1].remove(0)
        try await synchronize(all)
        world.pass(.seconds(170 * 86_400))
        try await synchronize(all)
        for device in all { #expect(try await removals(device) == 1) }
        world.pass(.seconds(11 * 86_400))
        try await synchronize(all)
        for device in all {
            #expect(try await removals(device) == 0)
            #expect(try await device.values() == [nil, 2, nil])
            #expect(try await published(device).entries.keys.sorted() == ["two"])
        }
    }

    @Test(
        "A removal is kept while an absent device still publishes the value",
        arguments: [false, true])
    func away(isHeardLast: Bool) async throws {
        let pair = try await devices(2, network: network, world: world)
        // States are delivered in the order of the devices' ids.
        let ids = [try await pair[0].id, try await pair[1].id]
        let all = (ids[0] < ids[1]) == isHeardLast ? Array(pair.reversed()) : pair
        try await all[0].set(1)
        try await synchronize(all)
        world.pass(.seconds(1))
        try await all[1].remove(0)
        // The first device stays away for half a year.
        world.pass(Self.halfYear)
        for _ in 1...2 { try await all[1].synchronize() }
        #expect(try await removals(all[1]) == 1)
        for _ in 1...3 {
            let new = try await device()
            try await new.synchronize()
            #expect(try await new.get(0) == nil)
            try await all[1].synchronize()
            #expect(try await all[1].get(0) == nil)
        }
        try await synchronize(all)
        #expect(try await all[0].get(0) == nil)
    }
}
