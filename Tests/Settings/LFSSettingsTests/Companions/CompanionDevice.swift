import Foundation
import GRDB
import LFSStorage
import LFSSystem
import LFSTesting
import Synchronization
import TestSupport
import Testing

@testable import LFSSettings

/// The common time of all devices in a test. It advances only when the test says so.
final class World: Sendable {
    private let milliseconds = Mutex<Int64>(1_800_000_000_000)

    var now: Int64 { milliseconds.withLock { $0 } }
    func pass(_ duration: Duration) { milliseconds.withLock { $0 += duration.milliseconds } }
}

/// A device with its own database and clock.
struct CompanionDevice: Sendable {
    /// The offset of the device's clock from the world's time.
    final class Skew: Sendable {
        private let milliseconds = Mutex<Int64>(0)
        var value: Int64 { milliseconds.withLock { $0 } }
        func set(_ duration: Duration) { milliseconds.withLock { $0 = duration.milliseconds } }
    }

    let database: any DatabaseWriter
    let storage: StorageRouter
    let skew: Skew

    init(
        _ world: World, transports: [any CompanionTransport], database: (any DatabaseWriter)? = nil,
        catalog: StorageCatalog = Self.catalog, change: (inout StorageOptions) -> Void = { _ in }
    ) async throws {
        let skew = Skew()
        var options = StorageOptions(companions: CompanionOptions(transports))
        options.now = { world.now + skew.value }
        change(&options)
        self.database = try database ?? Self.newDatabase()
        self.skew = skew
        storage = try await StorageRouter.open(self.database, catalogs: [catalog], options: options)
    }

    static func newDatabase() throws -> DatabaseQueue {
        let database = try DatabaseQueue()
        var migrator = DatabaseMigrator()
        migrator.registerLFSSettingsMigrations()
        try migrator.migrate(database)
        return database
    }

    var id: String {
        get async throws {
            try await database.read { db in
                try #require(try String.fetchOne(db, sql: "SELECT installID FROM lfs_setting_state"))
            }
        }
    }

    /// Returns the stored value of each key.
    func values() async throws -> [Int?] {
        var values: [Int?] = []
        for key in Self.keys { values.append(try await storage.getIfPresent(key)) }
        return values
    }

    func get(_ index: Int) async throws -> Int? { try await storage.getIfPresent(Self.keys[index]) }
    func set(_ value: Int, index: Int = 0) async throws { try await storage.set(value, for: Self.keys[index]) }
    func remove(_ index: Int) async throws { try await storage.remove(Self.keys[index]) }
    func synchronize() async throws { try await storage.synchronize() }

    /// Synchronizes as a running router does automatically.
    func synchronizeAutomatically() async throws {
        for runner in storage.companionRunners { try await runner.synchronize(includesManual: false) }
    }

    var status: CompanionStatus { get throws { try #require(storage.companions.first) } }
    var problems: [String] { get throws { try status.problems.map { "\($0.key ?? "all"): \($0.code)" } } }

    static let keys = ["one", "two", "three"].map {
        StorageKey<Int>($0, default: 0, sync: .automatic(maxByteCount: 100))
    }
    static let catalog = StorageCatalog("app") { keys }
}

/// Opens devices on one network, each with its own transport.
func devices(_ count: Int, network: LoopbackNetwork, world: World = World()) async throws -> [CompanionDevice] {
    var devices: [CompanionDevice] = []
    for _ in 0..<count { devices.append(try await CompanionDevice(world, transports: [LoopbackTransport(network)])) }
    return devices
}

/// Synchronizes all devices in turn, for some rounds.
func synchronize(_ devices: [CompanionDevice], rounds: Int = 2) async throws {
    for _ in 0..<rounds {
        for device in devices { try await device.synchronize() }
    }
}

/// A transport that records its calls and fails on demand.
final class RecordingTransport: CompanionTransport {
    struct Failure: Error {}

    private struct State {
        var calls: [String] = []
        var readings: [CompanionReading] = []
        var failing: Set<String> = []
        var body: (@Sendable (String) async throws -> Void)?
    }

    let base: any CompanionTransport
    private let state = Mutex(State())

    init(_ base: any CompanionTransport) { self.base = base }

    var name: String { base.name }
    var limits: CompanionLimits { base.limits }
    var isConfidential: Bool { base.isConfidential }
    var calls: [String] { state.withLock { $0.calls } }
    var readings: [CompanionReading] { state.withLock { $0.readings } }

    func fail(_ calls: String...) { state.withLock { $0.failing = Set(calls) } }
    /// Sets a body that runs before each call.
    func before(_ body: @escaping @Sendable (String) async throws -> Void) { state.withLock { $0.body = body } }

    private func note(_ call: String) async throws {
        let (fails, body) = state.withLock { state in
            state.calls.append(call)
            return (state.failing.contains(call), state.body)
        }
        try await body?(call)
        if fails { throw Failure() }
    }

    func publish(_ state: CompanionState) async throws {
        try await note("publish")
        try await base.publish(state)
    }

    func states(
        for query: CompanionQuery, _ take: @escaping @Sendable (CompanionReading) async throws -> Void
    ) async throws {
        try await note("states")
        try await base.states(for: query) { reading in
            self.state.withLock { $0.readings.append(reading) }
            try await take(reading)
        }
    }

    func changes() -> AsyncStream<Void> { base.changes() }
}

extension CompanionState {
    /// The size of the encoded state, by the same sum as the selection of what to publish.
    var byteCount: Int { entries.reduce(Self.frame) { $0 + $1.value.byteCount(of: $1.key) } }
}
