import Foundation
import LFSSettings
import LFSStorage
import LFSTesting
import TestSupport
import Testing

/// A random sequence of operations on several devices, derived from a seed, and the state that it must end in.
struct CompanionModel {
    let seed: Int
    /// Makes the transport of one device.
    let transport: @Sendable () throws -> any CompanionTransport

    /// The seeds to run. `LFS_SETTINGS_SEEDS` sets their number and `LFS_SETTINGS_FIRST_SEED` the first one.
    static let seeds: Range<Int> = {
        let environment = ProcessInfo.processInfo.environment
        let first = Int(environment["LFS_SETTINGS_FIRST_SEED"] ?? "") ?? 1
        return first..<(first + (Int(environment["LFS_SETTINGS_SEEDS"] ?? "") ?? 500))
    }()

    private static let steps = 24
    /// The length of a day, in milliseconds.
    private static let day: Int64 = 86_400_000

    func run() async throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let world = World()
        let count = 2 + seed % 2
        let ways = try (0..<count).map { index in
            UnreliableTransport(try transport(), random: SeededGenerator(seed: UInt64(seed * 8 + index)))
        }
        var devices: [CompanionDevice] = []
        for way in ways { devices.append(try await CompanionDevice(world, transports: [way])) }
        // Values that a device read and then replaced or removed.
        var replaced: [Set<Int>] = Array(repeating: [], count: CompanionDevice.keys.count)
        for step in 1...Self.steps {
            let device = devices[random.next(below: count)]
            let key = random.next(below: replaced.count)
            switch random.next(below: 8) {
            case 0...2:
                if let old = try await device.get(key) { replaced[key].insert(old) }
                try await device.set(step, index: key)
            case 3:
                if let old = try await device.get(key) { replaced[key].insert(old) }
                try await device.remove(key)
            // The clock jumps forward or back.
            case 4 where device.skew.value < Self.day:
                device.skew.set(.seconds(3_600 * (random.next(below: 21) - 10)))
            // A clock that is days ahead and is corrected at the end.
            case 5 where seed % 5 == 0: devices[0].skew.set(.seconds(3 * 86_400))
            default:
                do {
                    // Every other round is automatic. An automatic round does not read an unchanged state again.
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

@Suite("Convergence of companion settings", .timeLimit(.minutes(10)))
struct CompanionConvergenceTests {
    @Test("Devices that share settings in memory converge despite faults and clock errors")
    func loopback() async throws {
        try await forEachOnAllProcessors(CompanionModel.seeds) { seed in
            let network = LoopbackNetwork()
            try await CompanionModel(seed: seed) { LoopbackTransport(network) }.run()
        }
    }

    @Test("Devices that share settings in a folder converge despite faults")
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
