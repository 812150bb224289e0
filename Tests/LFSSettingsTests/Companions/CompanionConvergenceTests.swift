import Foundation
import LFSSettings
import LFSStorage
import LFSTesting
import TestSupport
import Testing

/// What chance does to devices, by a seed, and how it has to end.
struct CompanionModel {
    let seed: Int
    /// The way of a device to the others.
    let transport: @Sendable () throws -> any CompanionTransport

    /// How many seeds are run; `LFS_SETTINGS_SEEDS` sets another number, and `LFS_SETTINGS_FIRST_SEED` the first one.
    static let seeds: Range<Int> = {
        let environment = ProcessInfo.processInfo.environment
        let first = Int(environment["LFS_SETTINGS_FIRST_SEED"] ?? "") ?? 1
        return first..<(first + (Int(environment["LFS_SETTINGS_SEEDS"] ?? "") ?? 500))
    }()

    private static let steps = 24
    /// In milliseconds.
    private static let day: Int64 = 86_400_000

    func run() async throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let world = World()
        let count = 2 + seed % 2
        let ways = try (0..<count).map { index in
            UnreliableTransport(try transport(), random: SeededGenerator(seed: UInt64(seed * 8 + index)))
        }
        var devices: [CompanionDevice] = []
        for way in ways { devices.append(try await CompanionDevice(world, [way])) }
        // Values that somebody who saw them has set another one for, or removed.
        var replaced: [Set<Int>] = Array(repeating: [], count: CompanionDevice.keys.count)
        for step in 1...Self.steps {
            let device = devices[random.next(below: count)]
            let key = random.next(below: replaced.count)
            switch random.next(below: 8) {
            case 0...2:
                if let old = try await device.get(key) { replaced[key].insert(old) }
                try await device.set(step, key)
            case 3:
                if let old = try await device.get(key) { replaced[key].insert(old) }
                try await device.remove(key)
            // Clocks go forth and back.
            case 4 where device.skew.value < Self.day:
                device.skew.set(.seconds(3_600 * (random.next(below: 21) - 10)))
            // One that is wrong, and is set right at the end.
            case 5 where seed % 5 == 0: devices[0].skew.set(.seconds(3 * 86_400))
            default:
                do {
                    // Also as a router does by itself, which reads no state twice.
                    try await (step % 2 == 0 ? device.synchronize() : device.synchronizeAutomatically())
                } catch let error as SettingsError { try check(error) }
            }
            world.pass(.seconds(random.next(below: 600)))
        }
        for way in ways { way.heal() }
        for device in devices where device.skew.value > Self.day { device.skew.set(.zero) }
        for _ in 1...3 {
            for device in devices {
                try await (seed % 2 == 0 ? device.synchronize() : device.synchronizeAutomatically())
            }
        }
        let values = try await devices[0].values()
        for device in devices { #expect(try await device.values() == values, "seed \(seed)") }
        for (value, replaced) in zip(values, replaced) {
            if let value { #expect(!replaced.contains(value), "seed \(seed): \(value) is back") }
        }
    }

    private func check(_ error: SettingsError) throws { try #require(error.code == .transportFailed, "\(error)") }
}

@Suite("Settings of several devices come together", .timeLimit(.minutes(10)))
struct CompanionConvergenceTests {
    @Test(
        "In memory: whatever is lost, late, repeated or wrong on their clocks, they end equal, and nothing comes back")
    func loopback() async throws {
        try await forEachOnAllProcessors(CompanionModel.seeds) { seed in
            let network = LoopbackNetwork()
            try await CompanionModel(seed: seed) { LoopbackTransport(network) }.run()
        }
    }

    @Test("In a folder they do so too")
    func folder() async throws {
        try await withTemporaryFolder { folder in
            let storage = try DirectoryStorage(at: folder)
            try await forEachOnAllProcessors(CompanionModel.seeds) { seed in
                try await CompanionModel(seed: seed) { try RemoteStorageTransport(storage, prefix: "seed-\(seed)") }
                    .run()
            }
        }
    }
}
