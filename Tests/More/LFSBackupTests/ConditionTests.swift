import Foundation
import GRDB
import LFS
import LFSDatabase
import LFSSettings
import LFSSystem
import Synchronization
import TestSupport
import Testing

@testable import LFSBackup

@Suite("Upload conditions", .timeLimit(.minutes(10)))
struct ConditionTests {
    static let networks: [DeviceState.Network] = [.wired, .wifi, .mobile("wwan0"), .unknown("tun0"), .none]

    @Test("Only cable and Wi-Fi are unmetered, and a battery is not mains power", arguments: networks)
    func unmet(network: DeviceState.Network) {
        for power in [DeviceState.Power.mains, .battery] {
            let state = DeviceState(network: network, power: power)
            let isUnmetered = network == .wired || network == .wifi
            #expect(UploadConditions([]).unmet(by: state) == nil)
            #expect((UploadConditions.unmetered.unmet(by: state) == nil) == isUnmetered)
            #expect((UploadConditions.mains.unmet(by: state) == nil) == (power == .mains))
            let both: UploadConditions = [.unmetered, .mains]
            #expect((both.unmet(by: state) == nil) == (isUnmetered && power == .mains))
        }
        let poor = DeviceState(network: .mobile("wwan0"), power: .battery)
        #expect(
            UploadConditions([.unmetered, .mains]).unmet(by: poor)
                == "waits for an unmetered network (wwan0 is a mobile one) and mains power")
    }

    @Test("Uploads wait until all conditions are met, and the status names the unmet ones")
    func gate() async throws {
        let device = Mutex(DeviceState(network: .mobile("wwan0"), power: .battery))
        try await withPhotoApp(starts: false) { app in
            let gate = UploadGate(
                app.lfs, conditions: { [.unmetered, .mains] }, device: { device.withLock { $0 } },
                interval: .seconds(5),
                clock: ManualClock())
            try await gate.look()
            try app.lfs.start()
            try app.write("one.jpg", bytes: someBytes())
            try await app.backUp()
            #expect(try await app.lfs.waitForUploads(timeout: .milliseconds(200)).pending == 1)
            #expect(try await app.lfs.status().hold?.reason.contains("wwan0") == true)
            device.withLock { $0.network = .wifi }
            #expect(try await gate.look() == "waits for mains power")
            #expect(try await app.lfs.status().hold?.reason == "waits for mains power")
            device.withLock { $0.power = .mains }
            try await gate.look()
            #expect(app.storage.uploads == 0)
            #expect(try await app.count("lfs_job WHERE attempts = 0 AND errorCode IS NULL") == 1)
            #expect(try await gate.look() == nil)
            try await app.lfs.waitForUploads()
            #expect(app.storage.uploads == 1)
            #expect(try await app.lfs.status().hold == nil)
        }
    }

    @Test("A network that comes and goes starts no upload until it stays")
    func flapping() async throws {
        let device = Mutex(DeviceState(network: .none, power: .mains))
        try await withPhotoApp { app in
            let gate = UploadGate(
                app.lfs, conditions: { .unmetered }, device: { device.withLock { $0 } }, interval: .seconds(5),
                clock: ManualClock())
            for round in 0..<20 {
                device.withLock { $0.network = round.isMultiple(of: 2) ? .none : .wifi }
                #expect(try await gate.look() != nil)
                try app.write("\(round).jpg", bytes: someBytes(10 + round))
                try await app.backUp()
                app.lfs.resume()
            }
            #expect(app.storage.uploads == 0)
            device.withLock { $0.network = .wifi }
            #expect(try await gate.look() == nil)
            try await app.lfs.waitForUploads()
            #expect(app.storage.uploads == 20)
        }
    }

    @Test("A running gate checks once an interval and ends with its task")
    func running() async throws {
        let clock = ManualClock()
        try await withPhotoApp { app in
            let storage = try await StorageRouter.open(app.database, catalogs: [BackupSettings.catalog])
            let looks = Heard<Void>()
            let gate = UploadGate(
                app.lfs, conditions: { try await BackupSettings.conditions(storage) },
                device: {
                    looks.add(())
                    return DeviceState(network: .wifi, power: .battery)
                }, interval: .seconds(5), clock: clock)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { try await gate.run() }
                await clock.waitForSleepers { $0.contains(.seconds(5)) }
                #expect(try await app.lfs.status().hold == nil)
                try await storage.set(true, for: .backupRequiresCharging)
                clock.advance(by: .seconds(5))
                await clock.waitForSleepers { $0.contains(.seconds(5)) }
                #expect(try await app.lfs.status().hold?.reason == "waits for mains power")
                group.cancelAll()
                try await group.waitForAll()
            }
            #expect(looks.values.count == 2)
            try await storage.stop()
        }
    }

    @Test("An unknown device meets no condition and is asked only if there is one")
    func unknownDevice() async throws {
        try await withPhotoApp { app in
            let conditions = Mutex<UploadConditions>(.mains)
            let gate = UploadGate(
                app.lfs, conditions: { conditions.withLock { $0 } },
                device: { throw BackupError(.deviceUnknown, message: "no /sys") }, interval: .seconds(5),
                clock: ManualClock())
            #expect(try await gate.look() == "waits until the state of network and power can be read: no /sys")
            conditions.withLock { $0 = [] }
            try await gate.look()
            #expect(try await gate.look() == nil)
        }
    }

    @Test("The delay postpones an upload by up to a day", arguments: [600, 1_000_000])
    func delay(seconds: Int) async throws {
        let now = Mutex(Date(timeIntervalSince1970: 1_900_000_000))
        try await withPhotoApp(configure: { $0.wallClock = { now.withLock { $0 } } }) { app in
            var options = BackupOptions()
            options.delay = .seconds(seconds)
            options.wallClock = { now.withLock { $0 } }
            // The trigger that queues the upload uses SQLite's own time, which is long before this.
            try app.write("one.jpg", bytes: someBytes())
            try await app.backUp(nil, options: options)
            let expected = min(seconds, 86_400)
            #expect(try await app.count("lfs_job WHERE notBefore = 1900000000000 + \(expected) * 1000") == 1)
            #expect(try await app.lfs.waitForUploads(timeout: .milliseconds(200)).pending == 1)
            #expect(app.storage.uploads == 0)
            now.withLock { $0 += Double(expected) }
            app.lfs.resume()
            try await app.lfs.waitForUploads()
            #expect(app.storage.uploads == 1)
        }
    }

    @Test("The settings have their defaults, and a delay of more than a day is refused")
    func settings() async throws {
        try await withPhotoApp { app in
            let storage = try await StorageRouter.open(app.database, catalogs: [BackupSettings.catalog])
            #expect(try await BackupSettings.conditions(storage) == .unmetered)
            #expect(try await storage.get(.backupDelay) == .zero)
            try await storage.set(.seconds(600), for: .backupDelay)
            #expect(try await storage.get(.backupDelay) == .seconds(600))
            for seconds in [-1, 86_401] {
                let refusal = await settingsError { try await storage.set(.seconds(seconds), for: .backupDelay) }
                #expect(refusal?.code == .unencodable)
                #expect(refusal?.cause.map { "\($0)" } == "The delay of a backup must be from 0 to 24 hours.")
            }
            let groups = [BackupGroup("/a", mode: .include), BackupGroup("/b", mode: .exclude)]
            try await storage.set(groups, for: .backupGroups)
            let time = Date(timeIntervalSince1970: 1_900_000_000)
            try await BackupSettings.noteBackup(of: ["/a", "/z"], at: time, storage)
            #expect(try await storage.get(.backupGroups).map(\.lastBackup) == [time, nil])
            try await storage.stop()
        }
    }
}

private func settingsError(_ body: () async throws -> Void) async -> SettingsError? {
    do {
        try await body()
        return nil
    } catch {
        return error as? SettingsError
    }
}
